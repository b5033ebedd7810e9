import type { FastifyInstance } from 'fastify';
import { Session } from 'node:inspector/promises';
import type { AddressInfo } from 'node:net';
import { cpuMicroseconds } from '../cpu-time.ts';
import type { DatabaseKind } from '../data/database.ts';
import { type InProcessLoad, loadInProcess } from '../in-process/load-in-process.ts';
import type { BenchRequest } from '../workloads.ts';

/** The options of a server, in its first argument, as JSON. */
export interface ServerSettings {
  readonly kind: DatabaseKind;
  readonly location: string;
  readonly secret: string;
}

/** A complete response: for the comparison of the servers, and for the floor to send. */
export interface Answer {
  readonly status: number;
  readonly contentType: string | null;
  readonly location: string | null;
  readonly body: string;
}

export type Command =
  | { readonly name: 'usage' }
  | { readonly name: 'constants'; readonly answers: readonly (readonly [key: string, answer: Answer])[] }
  | { readonly name: 'loadInProcess'; readonly requests: readonly BenchRequest[]; readonly load: InProcessLoad }
  | { readonly name: 'startProfile'; readonly intervalMicroseconds: number }
  | { readonly name: 'stopProfile' }
  | { readonly name: 'startAllocations'; readonly intervalBytes: number }
  | { readonly name: 'stopAllocations' }
  | { readonly name: 'stop' };

type CommandHandlers = {
  readonly [Name in Command['name']]: (command: Extract<Command, { name: Name }>) => unknown;
};

/** The processor time of the process since it began, and the number of received requests. */
export interface Usage {
  readonly cpuMicroseconds: number;
  readonly requests: number;
  readonly rssBytes: number;
  readonly heapBytes: number;
}

export interface BenchServer {
  readonly app: FastifyInstance;
  /** Only the floor has constants to receive. */
  readonly setConstants?: (answers: ReadonlyMap<string, Answer>) => void;
}

/**
 * Runs one of the servers in this process: listens on a free loopback port, sends it to the parent, and executes the parent's commands. All
 * servers count their requests in the same way.
 */
export async function serve(build: (settings: ServerSettings) => Promise<BenchServer>): Promise<void> {
  const { app, setConstants } = await build(JSON.parse(process.argv[2] ?? '{}') as ServerSettings);
  let requests = 0;
  app.server.prependListener('request', () => requests++);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const session = new Session();
  session.connect();

  const commands: CommandHandlers = {
    usage: () => usage(requests),
    constants: ({ answers }) => setConstants?.(new Map(answers)),
    loadInProcess: (command) => loadInProcess(app, command.requests, command.load),
    startProfile: ({ intervalMicroseconds }) => startProfile(session, intervalMicroseconds),
    stopProfile: async () => (await session.post('Profiler.stop')).profile,
    startAllocations: ({ intervalBytes }) => startAllocations(session, intervalBytes),
    stopAllocations: async () => (await session.post('HeapProfiler.stopSampling')).profile,
    stop: () => app.close(),
  };
  const perform = async (command: Command): Promise<unknown> => commands[command.name](command as never);
  process.on('message', ({ id, command }: { id: number; command: Command }) => {
    void perform(command).then(
      (result) => process.send?.({ id, result }),
      (error: unknown) => process.send?.({ id, error: String(error) }),
    );
  });
  // A parent that is gone leaves no server behind.
  process.on('disconnect', () => process.exit());
  process.send?.({ id: 0, result: (app.server.address() as AddressInfo).port });
}

async function startProfile(session: Session, interval: number): Promise<void> {
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval });
  await session.post('Profiler.start');
}

/** Samples allocations, whether they are still alive or not. */
async function startAllocations(session: Session, samplingInterval: number): Promise<void> {
  await session.post('HeapProfiler.startSampling', {
    samplingInterval,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
}

function usage(requests: number): Usage {
  const { rss, heapUsed } = process.memoryUsage();
  return { cpuMicroseconds: cpuMicroseconds(), requests, rssBytes: rss, heapBytes: heapUsed };
}
