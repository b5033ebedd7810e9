import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const CLIENTS = 8;
/** The time before the signal, in milliseconds. */
const LOAD_MS = 200;

/** How a server ended, and what its clients saw. */
interface Stop {
  readonly code: number | null;
  readonly signal: string | null;
  /** The statuses of all responses. */
  readonly statuses: ReadonlySet<number | undefined>;
}

/**
 * Sends SIGTERM to a server whose clients keep their connections and send one request after another. One connection
 * has sent nothing. Resolves when the process has ended.
 */
export async function stopUnderLoad(server: ChildProcess, url: URL): Promise<Stop> {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const silent = connect(Number(url.port), url.hostname).on('error', () => {});
  const statuses = new Set<number | undefined>();
  const over = new AbortController();
  const client = async (): Promise<void> => {
    try {
      while (!over.signal.aborted) statuses.add(await statusOf(url, agent));
    } catch {
      // The server is gone.
    }
  };
  const clients = Array.from({ length: CLIENTS }, client);
  await sleep(LOAD_MS);
  const exited = once(server, 'exit');
  server.kill('SIGTERM');
  const [code, signal] = (await exited) as [number | null, string | null];
  over.abort();
  await Promise.all(clients);
  silent.destroy();
  agent.destroy();
  return { code, signal, statuses };
}

async function statusOf(url: URL, agent: Agent): Promise<number | undefined> {
  const sent = request(url, { agent }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  for await (const chunk of response) void chunk;
  return response.statusCode;
}
