import type { DatabaseKind } from '../data/database.ts';
import type { Round } from '../load.ts';
import type { MachineFacts } from '../machine.ts';
import { SERVER_NAMES, type ServerName } from '../server-process.ts';
import { quartiles, type Quartiles, quotients } from '../statistics.ts';
import type { Workload, WorkloadName } from '../workloads.ts';

/** A run of the benchmark, as stored in `results/`. */
export interface ComparisonRun {
  readonly machine: MachineFacts;
  readonly settings: {
    readonly rounds: number;
    /** After this many rounds every server is started again. */
    readonly roundsAProcess: number;
    readonly durationSeconds: number;
    readonly warmUpSeconds: number;
    readonly connections: number;
  };
  readonly comparisons: readonly Comparison[];
}

/** One workload on one database and size of table. */
export interface Comparison {
  readonly database: DatabaseKind;
  readonly rows: number;
  readonly workload: WorkloadName;
  readonly title: string;
  readonly target: Workload['target'];
  readonly servers: Readonly<Partial<Record<ServerName, ServerSummary>>>;
  readonly ratios: Ratios;
}

/** The rounds of one server, in short. */
export interface ServerSummary {
  readonly cpuMicroseconds: Quartiles;
  readonly requestsPerSecond: Quartiles;
  /** The medians of the rounds. */
  readonly latencyMs: Round['latencyMs'];
}

/** The quotients of rounds that ran next to each other; null if one of the two did not run. */
export interface Ratios {
  readonly cpuOursToRaw: Quartiles | null;
  readonly rateOursToHand: Quartiles | null;
}

/** The figures of each server in one round, in which they took turns. */
export type MeasuredRound = ReadonlyMap<ServerName, Round>;

export function summarize(
  { name, title, target }: Workload,
  database: DatabaseKind,
  rows: number,
  measured: readonly MeasuredRound[],
): Comparison {
  const names = SERVER_NAMES.filter((server) => measured[0]?.has(server) === true);
  const roundsOf = (server: ServerName): Round[] => measured.map((round) => round.get(server)!);
  const servers = Object.fromEntries(names.map((server) => [server, summarizeServer(roundsOf(server))]));
  const ratio = (read: (round: Round) => number, numerator: ServerName, denominator: ServerName): Quartiles | null =>
    names.includes(numerator) && names.includes(denominator)
      ? quartiles(quotients(roundsOf(numerator).map(read), roundsOf(denominator).map(read)))
      : null;
  return {
    database,
    rows,
    workload: name,
    title,
    target,
    servers,
    ratios: {
      cpuOursToRaw: ratio(cpu, 'ours', 'raw'),
      rateOursToHand: ratio(rate, 'ours', 'hand'),
    },
  };
}

function cpu(round: Round): number {
  return round.cpuMicrosecondsPerRequest;
}

function rate(round: Round): number {
  return round.requestsPerSecond;
}

function summarizeServer(rounds: readonly Round[]): ServerSummary {
  const latency = (percentile: keyof Round['latencyMs']): number =>
    quartiles(rounds.map(({ latencyMs }) => latencyMs[percentile])).median;
  return {
    cpuMicroseconds: quartiles(rounds.map(cpu)),
    requestsPerSecond: quartiles(rounds.map(rate)),
    latencyMs: { p50: latency('p50'), p99: latency('p99') },
  };
}
