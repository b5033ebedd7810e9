import type { DatabaseKind } from '../data/database.ts';
import type { Round } from '../load.ts';
import type { MachineFacts } from '../machine.ts';
import { SERVER_NAMES, type ServerName } from '../server-process.ts';
import { median, middleHalf, quotients } from '../statistics.ts';
import type { Workload, WorkloadName } from '../workloads.ts';

/** A run of the benchmark, as it stands in `results/`. */
export interface ComparisonRun {
  readonly machine: MachineFacts;
  readonly settings: {
    readonly rounds: number;
    /** After so many rounds every server was started anew. */
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

/** Medians of the rounds, and the rounds. */
export interface ServerSummary {
  readonly cpuMicroseconds: number;
  readonly requestsPerSecond: number;
  readonly latencyMs: Round['latencyMs'];
  readonly rounds: readonly Round[];
}

/** Medians of the quotients of rounds that ran next to each other; null where one of the two did not run. */
export interface Ratios {
  readonly cpuOursToRaw: number | null;
  /** Between what the middle half of these quotients lies. */
  readonly cpuOursToRawMiddleHalf: readonly [low: number, high: number] | null;
  readonly cpuOursToHand: number | null;
  readonly cpuRawToFloor: number | null;
  readonly rateOursToHand: number | null;
  readonly rateOursToRaw: number | null;
}

/** What each server did in one round, in which they took turns. */
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
  const ratios = (read: (round: Round) => number, numerator: ServerName, denominator: ServerName): number[] | null =>
    names.includes(numerator) && names.includes(denominator)
      ? quotients(roundsOf(numerator).map(read), roundsOf(denominator).map(read))
      : null;
  const ratio = (...asked: Parameters<typeof ratios>): number | null => {
    const found = ratios(...asked);
    return found === null ? null : median(found);
  };
  const cpuOursToRaw = ratios(cpu, 'ours', 'raw');
  return {
    database,
    rows,
    workload: name,
    title,
    target,
    servers,
    ratios: {
      cpuOursToRaw: cpuOursToRaw === null ? null : median(cpuOursToRaw),
      cpuOursToRawMiddleHalf: cpuOursToRaw === null ? null : middleHalf(cpuOursToRaw),
      cpuOursToHand: ratio(cpu, 'ours', 'hand'),
      cpuRawToFloor: ratio(cpu, 'raw', 'floor'),
      rateOursToHand: ratio(rate, 'ours', 'hand'),
      rateOursToRaw: ratio(rate, 'ours', 'raw'),
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
    median(rounds.map(({ latencyMs }) => latencyMs[percentile]));
  return {
    cpuMicroseconds: median(rounds.map(cpu)),
    requestsPerSecond: median(rounds.map(rate)),
    latencyMs: { p50: latency('p50'), p97_5: latency('p97_5'), p99: latency('p99') },
    rounds,
  };
}
