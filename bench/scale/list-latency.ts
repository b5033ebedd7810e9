import { randomBytes } from 'node:crypto';
import { Agent, get } from 'node:http';
import type { Cores } from '../cores.ts';
import type { DatabaseKind } from '../data/database.ts';
import type { Databases } from '../databases.ts';
import { ServerProcess } from '../server-process.ts';
import { median } from '../statistics.ts';

/** The positions in a list whose latency is measured, a page of ten records each. */
export const PLACES = [
  'page number, first page',
  'page number, last page',
  'limit/offset, first page',
  'limit/offset, last page',
  'cursor, first page',
  'cursor, last page',
  'cursor by price, last page',
] as const;
export type Place = (typeof PLACES)[number];

/** Median latencies in milliseconds, one request at a time. */
export interface ListLatency {
  readonly database: DatabaseKind;
  readonly rows: number;
  readonly latencyMs: Readonly<Record<Place, number>>;
}

const PAGE_SIZE = 10;
const STEP = 10_000;
const WARM_UPS = 10;
const MOST_SAMPLES = 60;
const MOST_MILLISECONDS = 3_000;

export async function listLatency(
  databases: Databases,
  kind: DatabaseKind,
  rows: number,
  cores: Cores,
): Promise<{ latency: ListLatency; version: string }> {
  const database = await databases.create(kind, { products: rows, accounts: 0, baskets: 0 });
  const secret = randomBytes(32).toString('hex');
  const server = await ServerProcess.start('lists', { kind, location: database.location, secret }, cores);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    const client = new Client(server.url, agent);
    const lastOffset = rows - PAGE_SIZE;
    const paths: Record<Place, string> = {
      'page number, first page': '/numbered',
      'page number, last page': `/numbered?page=${Math.ceil(rows / PAGE_SIZE)}`,
      'limit/offset, first page': '/offset',
      'limit/offset, last page': `/offset?offset=${lastOffset}`,
      'cursor, first page': '/cursor',
      'cursor, last page': await client.deepCursor('/cursor', rows),
      'cursor by price, last page': await client.deepCursor('/cursor?sort=price', rows),
    };
    const latencyMs = {} as Record<Place, number>;
    for (const place of PLACES) latencyMs[place] = await client.medianLatency(paths[place]);
    return { latency: { database: kind, rows, latencyMs }, version: database.version };
  } finally {
    agent.destroy();
    await server.stop();
    await databases.remove(database);
  }
}

/** One connection, one request at a time. */
class Client {
  readonly #base: string;
  readonly #agent: Agent;

  constructor(base: string, agent: Agent) {
    this.#base = base;
    this.#agent = agent;
  }

  /** The path of the page that begins ten records or fewer before the end, reached by following cursors. */
  async deepCursor(path: string, rows: number): Promise<string> {
    const joined = path.includes('?') ? `${path}&` : `${path}?`;
    let cursor = '';
    for (let left = rows - PAGE_SIZE; left > 0; left -= Math.min(left, STEP)) {
      const body = await this.text(`${joined}page_size=${Math.min(left, STEP)}${cursor}`);
      const { next_cursor: next } = JSON.parse(body) as { next_cursor: string | null };
      if (next === null) throw new Error(`${path}: the list ends before its last page`);
      cursor = `&cursor=${next}`;
    }
    return `${joined}page_size=${PAGE_SIZE}${cursor}`;
  }

  async medianLatency(path: string): Promise<number> {
    const { results } = JSON.parse(await this.text(path)) as { results: unknown[] };
    if (results.length !== PAGE_SIZE) throw new Error(`${path}: ${results.length} records, not ${PAGE_SIZE}`);
    const latencies: number[] = [];
    const deadline = performance.now() + MOST_MILLISECONDS;
    for (let count = 0; count < WARM_UPS + MOST_SAMPLES && performance.now() < deadline; count++) {
      const startedAt = performance.now();
      await this.text(path);
      latencies.push(performance.now() - startedAt);
    }
    return median(latencies.slice(Math.min(WARM_UPS, latencies.length - 1)));
  }

  text(path: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const request = get(this.#base + path, { agent: this.#agent }, (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (body += chunk));
        response.on('end', () => {
          if (response.statusCode === 200) resolve(body);
          else reject(new Error(`${path}: ${response.statusCode} ${body}`));
        });
      });
      request.on('error', reject);
    });
  }
}
