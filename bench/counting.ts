/**
 * `node bench/counting.ts [rounds] [seconds]`: the cost of a page of ten for each way of counting, on SQLite and PostgreSQL, at 1,000 and
 * 100,000 rows. The ways take turns on one server; the printed table is in docs/pagination.md.
 */
import { divideCores } from './cores.ts';
import type { DatabaseKind } from './data/database.ts';
import { Databases } from './databases.ts';
import { measure, type Round } from './load.ts';
import { ServerProcess } from './server-process.ts';
import { median, rotated } from './statistics.ts';

const WAYS = ['exact', 'estimated', 'none'] as const;
type Way = (typeof WAYS)[number];
const CONNECTIONS = 16;

const rounds = Number(process.argv[2] ?? 5);
const durationSeconds = Number(process.argv[3] ?? 1);
const cores = divideCores();
const databases = new Databases();
console.log('| database | rows | page | count | CPU a request, µs | latency p50, ms | requests/s |');
console.log('|---|---:|---|---|---:|---:|---:|');
try {
  for (const kind of ['sqlite', 'postgresql'] as const) {
    for (const rows of [1000, 100_000]) await measureTable(kind, rows);
  }
} finally {
  await databases.close();
}

async function measureTable(kind: DatabaseKind, rows: number): Promise<void> {
  const { location } = await databases.create(kind, { products: rows, accounts: 0, baskets: 0 });
  const server = await ServerProcess.start('counted', { kind, location, secret: '' }, cores);
  try {
    for (const query of ['', '?min_price=100']) {
      const measured = await compareWays(server, query);
      const titles = [kind, rows.toLocaleString('en'), query || 'first'];
      for (const way of WAYS) console.log(line([...titles, way], measured[way]));
    }
  } finally {
    await server.stop();
  }
}

async function compareWays(server: ServerProcess<string>, query: string): Promise<Record<Way, Round[]>> {
  const measured: Record<Way, Round[]> = { exact: [], estimated: [], none: [] };
  // The first round warms up, and is not kept.
  for (let round = 0; round <= rounds; round++) {
    for (const way of rotated(WAYS, round)) {
      const request = { method: 'GET', path: `/${way}${query}`, headers: {}, body: undefined } as const;
      const result = await measure(server, [request], { connections: CONNECTIONS, durationSeconds });
      if (round > 0) measured[way].push(result);
    }
  }
  return measured;
}

function line(titles: readonly string[], results: readonly Round[]): string {
  const cpu = median(results.map((result) => result.cpuMicrosecondsPerRequest));
  const latency = median(results.map((result) => result.latencyMs.p50));
  const rate = median(results.map((result) => result.requestsPerSecond));
  return `| ${[...titles, cpu.toFixed(0), latency.toFixed(0), rate.toFixed(0)].join(' | ')} |`;
}
