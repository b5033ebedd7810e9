import type { FastifyInstance } from 'fastify';
import { cpuMicroseconds } from '../cpu-time.ts';
import type { BenchRequest } from '../workloads.ts';
import { Connection } from './connection.ts';

export interface InProcessLoad {
  /** Concurrent requests, each on a separate connection. */
  readonly connections: number;
  /** How long, in time that the process takes of the processor. */
  readonly cpuSeconds: number;
}

/** Requests between two looks at the clock, at least: a look takes a microsecond. */
const LEAST_TURN = 32;

/**
 * Passes requests, in turn, to the application of this process, and resolves with the time of one: microseconds, user and system time of
 * the process. Rejects if a response is not a success.
 */
export async function loadInProcess(
  app: FastifyInstance,
  requests: readonly BenchRequest[],
  { connections, cpuSeconds }: InProcessLoad,
): Promise<number> {
  const turn = requests.length * Math.ceil(LEAST_TURN / requests.length);
  const open = Array.from({ length: connections }, () => new Connection());
  const startedAt = cpuMicroseconds();
  const endsAt = startedAt + cpuSeconds * 1e6;
  let [sent, served, now] = [0, 0, startedAt];
  const keepBusy = async (connection: Connection): Promise<void> => {
    while (now < endsAt) {
      await connection.exchange(app, requests[sent++ % requests.length]!);
      served++;
      if (served % turn === 0) now = cpuMicroseconds();
    }
  };
  await Promise.all(open.map(keepBusy));
  const taken = cpuMicroseconds() - startedAt;
  for (const connection of open) connection.destroy();
  return taken / served;
}
