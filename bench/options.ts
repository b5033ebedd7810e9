import { parseArgs } from 'node:util';
import { DATABASE_KINDS, type DatabaseKind } from './data/database.ts';
import { SERVER_NAMES, type ServerName } from './server-process.ts';
import { WORKLOAD_NAMES, type WorkloadName } from './workloads.ts';

export const USAGE = `Usage: pnpm bench [compare | in-process | profile | allocations | scale | types | document] [options]

  compare (default)     floor, raw, hand and ours side by side
  in-process            what a request costs in JavaScript, without a network; steady enough to show 3 % more
  profile               where ours spends more CPU than raw, without a network, by module and function
  allocations           what ours allocates for a request more than raw, without a network, by module and function;
                        the load of the machine does not change it
  scale                 lists of growing tables; start time and memory of growing applications
  types                 what applications of one view and of fifty cost the compiler
  document              what a document costs the start and the requests of fifty views and of two hundred

  --help                this text
  --quick               a smoke run: small tables, one short round; proves that it runs, measures nothing
  --only <names>        workloads, separated by commas: ${WORKLOAD_NAMES.join(', ')}
  --db <names>          sqlite, postgresql, mongodb; default: all, MongoDB only where it can be had
  --rows <numbers>      table sizes; default: 1000,100000 (in-process, profile, allocations: 1000; scale: 1000,10000,100000,1000000)
  --servers <names>     of ${SERVER_NAMES.join(', ')}; default: all but plugin
                        (in-process, profile, allocations: raw,ours)
  --rounds <number>     of each workload and server, alternating; default: 15. New processes come after every five
                        (in-process: after each; profile, allocations: one round)
  --duration <seconds>  of one round; default: 0.5; profile, allocations: 3 (both and in-process: of the processor)
  --warm-up <seconds>   of load on each new process, hand three times that; default: 2 (in-process, profile,
                        allocations: 3, of the processor, for all alike)
  --connections <n>     of the load generator; default: 32 (in-process: requests in flight)
  --publish             write the results into docs/performance.md and results/latest*.json; the default of a full run
  --no-publish          do not

scale takes --quick, --db, --rows and --publish, and no other; types and document --quick and --publish. All but profile and allocations leave their results in
bench/results/, which git ignores.`;

export interface Options {
  readonly command: (typeof COMMANDS)[number];
  readonly quick: boolean;
  readonly only: readonly WorkloadName[];
  readonly databases: readonly DatabaseKind[] | undefined;
  readonly rows: readonly number[] | undefined;
  readonly servers: readonly ServerName[] | undefined;
  readonly rounds: number;
  readonly durationSeconds: number;
  readonly warmUpSeconds: number;
  readonly connections: number;
  readonly publish: boolean;
}

const COMMANDS = ['compare', 'in-process', 'profile', 'allocations', 'scale', 'types', 'document'] as const;

/** Throws a UsageError for unknown arguments, and if help is requested. */
export function readOptions(argv: readonly string[]): Options {
  const { values, positionals } = parse(argv);
  const { quick } = values;
  if (values.help) throw new UsageError();
  if (positionals.length > 1) throw new UsageError(`There is one command, got these: ${positionals.join(', ')}`);
  const partial = [
    values.only,
    values.db,
    values.rows,
    values.servers,
    values.rounds,
    values.duration,
    values['warm-up'],
    values.connections,
  ];
  const rows = values.rows?.split(',').map((text) => positive('--rows', text));
  const command = oneOf('command', COMMANDS, positionals[0] ?? 'compare');
  return {
    command,
    quick,
    only: listOf('--only', WORKLOAD_NAMES, values.only),
    databases: values.db === undefined ? undefined : listOf('--db', DATABASE_KINDS, values.db),
    rows: rows ?? (quick ? [1_000] : undefined),
    servers: values.servers === undefined ? undefined : listOf('--servers', SERVER_NAMES, values.servers),
    rounds: values.rounds === undefined ? (quick ? 1 : 15) : positive('--rounds', values.rounds),
    durationSeconds:
      values.duration === undefined ? defaultDuration(command, quick) : positive('--duration', values.duration),
    warmUpSeconds:
      values['warm-up'] === undefined ? defaultWarmUp(command, quick) : positive('--warm-up', values['warm-up']),
    connections: values.connections === undefined ? 32 : positive('--connections', values.connections),
    publish: values.publish ?? (!quick && partial.every((value) => value === undefined)),
  };
}

function defaultDuration(command: Options['command'], quick: boolean): number {
  if (quick) return 0.3;
  return command === 'profile' || command === 'allocations' ? 3 : 0.5;
}

function defaultWarmUp(command: Options['command'], quick: boolean): number {
  if (quick) return 0.2;
  return command === 'in-process' || command === 'profile' || command === 'allocations' ? 3 : 2;
}

/** The errors of the arguments, and the usage; only the usage if there are none. */
export class UsageError extends Error {
  readonly isMistake: boolean;

  constructor(mistake?: string) {
    super(mistake === undefined ? USAGE : `${mistake}\n\n${USAGE}`);
    this.isMistake = mistake !== undefined;
  }
}

const OPTIONS = {
  help: { type: 'boolean', short: 'h', default: false },
  quick: { type: 'boolean', default: false },
  only: { type: 'string' },
  db: { type: 'string' },
  rows: { type: 'string' },
  servers: { type: 'string' },
  rounds: { type: 'string' },
  duration: { type: 'string' },
  'warm-up': { type: 'string' },
  connections: { type: 'string' },
  publish: { type: 'boolean' },
} as const;

function parse(argv: readonly string[]) {
  const args = argv.filter((argument) => argument !== '--');
  try {
    return parseArgs({ args, allowPositionals: true, allowNegative: true, options: OPTIONS });
  } catch (error) {
    // The text after the first sentence is not needed here.
    throw new UsageError((error as Error).message.split('. ')[0]);
  }
}

function listOf<Name extends string>(
  option: string,
  names: readonly Name[],
  text: string | undefined,
): readonly Name[] {
  return text === undefined ? names : text.split(',').map((name) => oneOf(option, names, name));
}

function oneOf<Name extends string>(option: string, names: readonly Name[], given: string): Name {
  const found = names.find((name) => name === given);
  if (found === undefined) throw new UsageError(`${option}: "${given}" is none of ${names.join(', ')}`);
  return found;
}

function positive(option: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new UsageError(`${option} must be a number above 0, not "${text}"`);
  return value;
}
