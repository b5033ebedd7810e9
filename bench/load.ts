import autocannon from 'autocannon';
import type { ServerProcess } from './server-process.ts';
import type { BenchRequest } from './workloads.ts';

/** The figures of one server in one round. */
export interface Round {
  /** User and system time of the server's process, by the requests that it was sent. */
  readonly cpuMicrosecondsPerRequest: number;
  readonly requestsPerSecond: number;
  readonly latencyMs: { readonly p50: number; readonly p99: number };
  readonly requests: number;
}

export interface LoadOptions {
  readonly connections: number;
  readonly durationSeconds: number;
  /**
   * Polls the sockets without sleeping: then no server pays for waking the load generator. For a load generator with cores that it does not
   * share. Default: false.
   */
  readonly polls?: boolean;
}

/** Milliseconds between two looks of the load generator at the clock. */
const SAMPLE_MS = 50;

/** Sends load to a server, and reads its cost. Throws if a response is not a success. */
export async function measure(
  server: ServerProcess<string>,
  requests: readonly BenchRequest[],
  { connections, durationSeconds, polls }: LoadOptions,
): Promise<Round> {
  const before = await server.usage();
  const startedAt = performance.now();
  const run = async (): Promise<autocannon.Result> =>
    autocannon({
      url: server.url,
      connections,
      duration: durationSeconds,
      sampleInt: SAMPLE_MS,
      requests: requests.map(toAutocannon),
    });
  const result = await (polls ? polling(run) : run());
  const seconds = (performance.now() - startedAt) / 1000;
  const after = await server.usage();
  const served = after.requests - before.requests;
  const failures = result.non2xx + result.errors + result.timeouts;
  if (failures > 0 || served === 0) {
    throw new Error(`${server.name}: ${failures} of ${served} requests to ${requests[0]?.path} failed`);
  }
  const { p50, p99 } = result.latency;
  return {
    cpuMicrosecondsPerRequest: (after.cpuMicroseconds - before.cpuMicroseconds) / served,
    requestsPerSecond: served / seconds,
    latencyMs: { p50, p99 },
    requests: served,
  };
}

/** V8 compiles functions that are called often, and hand responds to a tenth of the requests of the others: it needs longer. */
export const WARM_UP_TIMES = { floor: 1, raw: 1, plugin: 1, hand: 3, ours: 1 } as const;

/** Sends load to servers until V8 has compiled the hot functions. */
export async function warmUp(
  servers: readonly ServerProcess[],
  requests: readonly BenchRequest[],
  load: LoadOptions,
): Promise<void> {
  for (const server of servers) {
    const durationSeconds = load.durationSeconds * WARM_UP_TIMES[server.name];
    await measure(server, requests, { ...load, durationSeconds });
  }
}

/** Does work on an event loop that never sleeps meanwhile. */
async function polling<Result>(work: () => Promise<Result>): Promise<Result> {
  let isDone = false;
  const turn = (): void => {
    if (!isDone) setImmediate(turn);
  };
  turn();
  try {
    return await work();
  } finally {
    isDone = true;
  }
}

function toAutocannon({ method, path, headers, body }: BenchRequest): autocannon.Request {
  return { method, path, headers, ...(body === undefined ? {} : { body }) };
}
