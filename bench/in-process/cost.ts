import type { DatabaseKind } from '../data/database.ts';
import type { ServerName } from '../server-process.ts';
import { median, medianRatio, quartiles } from '../statistics.ts';
import type { Workload, WorkloadName } from '../workloads.ts';

/** The cost of a request of one workload in process, on one database and size of table. */
export interface InProcessCost {
  readonly database: DatabaseKind;
  readonly rows: number;
  readonly workload: WorkloadName;
  readonly title: string;
  readonly servers: Readonly<Partial<Record<ServerName, Figure>>>;
  /** For each round the median of the quotients of adjacent slices; null if one of the two servers did not run. */
  readonly oursToRaw: Figure | null;
}

/** A figure of every round, and their median. Of a server: microseconds of the processor a request. */
export interface Figure {
  readonly median: number;
  readonly rounds: readonly number[];
}

/** The time of a request in each slice of one round, in microseconds of the processor; the servers took turns. */
export type RoundSlices = ReadonlyMap<ServerName, readonly number[]>;

export function summarizeCost(
  { name, title }: Workload,
  database: DatabaseKind,
  rows: number,
  rounds: readonly RoundSlices[],
): InProcessCost {
  const servers = [...(rounds[0]?.keys() ?? [])];
  const slicesOf = (server: ServerName) => rounds.map((slices) => slices.get(server) ?? []);
  const [ours, raw] = [slicesOf('ours'), slicesOf('raw')];
  return {
    database,
    rows,
    workload: name,
    title,
    servers: Object.fromEntries(servers.map((server) => [server, figure(slicesOf(server).map(undisturbed))])),
    oursToRaw:
      servers.includes('ours') && servers.includes('raw')
        ? figure(ours.map((slices, round) => medianRatio(slices, raw[round]!)))
        : null,
  };
}

/** The lower quartile: other load on the machine makes a slice slower, never faster. */
function undisturbed(slices: readonly number[]): number {
  return quartiles(slices).lower;
}

function figure(rounds: readonly number[]): Figure {
  return { median: median(rounds), rounds };
}
