import { parseArgs } from 'node:util';
import type { DatabaseKind } from './data/database.ts';
import { SERVER_NAMES, type ServerName } from './server-process.ts';
import { WORKLOAD_NAMES, type WorkloadName } from './workloads.ts';

export const USAGE = `Usage: pnpm bench [compare | in-process | profile | scale] [options]

  compare (default)     floor, raw, hand and ours side by side
  in-process            what a request costs in JavaScript, without a network; steady enough to show 3 % more
  profile               where ours spends more CPU than raw, by module and function
  scale                 lists of growing tables; start time and memory of growing applications

  --quick               a smoke run: small tables, one short round; proves that it runs, measures nothing
  --only <names>        workloads, separated by commas: ${WORKLOAD_NAMES.join(', ')}
  --db <names>          sqlite, postgresql; default: both
  --rows <numbers>      table sizes; default: 1000,100000 (in-process, profile: 1000; scale: 1000,10000,100000,1000000)
  --servers <names>     of ${SERVER_NAMES.join(', ')}; default: all (in-process, profile: raw,ours)
  --rounds <number>     of each workload and server, alternating; default: 15
  --duration <seconds>  of one round; default: 0.5 (in-process: of the processor)
  --warm-up <seconds>   of load on each server before a workload's first round; default: 3 (in-process: before every
                        round, of the processor)
  --connections <n>     of the load generator; default: 32 (in-process: requests in flight)
  --publish             write the results into docs/performance.md and results/latest*.json; the default of a full run
  --no-publish          do not`;

export interface Options {
  readonly command: (typeof COMMANDS)[number];
  readonly quick: boolean;
  readonly only: readonly WorkloadName[];
  readonly databases: readonly DatabaseKind[];
  readonly rows: readonly number[] | undefined;
  readonly servers: readonly ServerName[] | undefined;
  readonly rounds: number;
  readonly durationSeconds: number;
  readonly warmUpSeconds: number;
  readonly connections: number;
  readonly publish: boolean;
}

const COMMANDS = ['compare', 'in-process', 'profile', 'scale'] as const;
const DATABASES = ['sqlite', 'postgresql'] as const;

/** Throws with the usage for anything that it does not know. */
export function readOptions(argv: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: argv.filter((argument) => argument !== '--'),
    allowPositionals: true,
    allowNegative: true,
    options: {
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
    },
  });
  const { quick } = values;
  const partial = [
    values.only,
    values.db,
    values.rows,
    values.servers,
    values.rounds,
    values.duration,
    values['warm-up'],
  ];
  const rows = values.rows?.split(',').map((text) => positive('--rows', text));
  return {
    command: oneOf('command', COMMANDS, positionals[0] ?? 'compare'),
    quick,
    only: listOf('--only', WORKLOAD_NAMES, values.only),
    databases: listOf('--db', DATABASES, values.db),
    rows: rows ?? (quick ? [1_000] : undefined),
    servers: values.servers === undefined ? undefined : listOf('--servers', SERVER_NAMES, values.servers),
    rounds: values.rounds === undefined ? (quick ? 1 : 15) : positive('--rounds', values.rounds),
    durationSeconds: values.duration === undefined ? (quick ? 0.3 : 0.5) : positive('--duration', values.duration),
    warmUpSeconds: values['warm-up'] === undefined ? (quick ? 0.2 : 3) : positive('--warm-up', values['warm-up']),
    connections: values.connections === undefined ? 32 : positive('--connections', values.connections),
    publish: values.publish ?? (!quick && partial.every((value) => value === undefined)),
  };
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
  if (found === undefined) throw new Error(`${option}: "${given}" is none of ${names.join(', ')}\n\n${USAGE}`);
  return found;
}

function positive(option: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`${option} must be a number above 0, not "${text}"\n\n${USAGE}`);
  return value;
}
