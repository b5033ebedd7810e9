import { parseArgs } from 'node:util';
import {
  DATABASES,
  type GivenChoices,
  PACKAGE_MANAGERS,
  type PackageManager,
  type Part,
  PART_NAMES,
  PARTS,
} from './choices.ts';
import { Mistake } from './mistake.ts';

const OPTIONS = {
  database: { type: 'string' },
  ...(Object.fromEntries(PART_NAMES.map((part) => [part, { type: 'boolean' }])) as Record<Part, { type: 'boolean' }>),
  'package-manager': { type: 'string' },
  packages: { type: 'string' },
  install: { type: 'boolean' },
  yes: { type: 'boolean', short: 'y' },
  help: { type: 'boolean', short: 'h' },
} as const;

export const HELP = `Usage: npm create viewset [folder] -- [options]

  --database <name>          ${DATABASES.join(', ')}
${PART_NAMES.map((part) => `  ${`--${part}, --no-${part}`.padEnd(25)}  ${PARTS[part]}`).join('\n')}
  --package-manager <name>   ${PACKAGE_MANAGERS.join(', ')}; default: the one that runs this
  --no-install               do not install the packages
  --packages <folder>        take the packages of Viewset from tarballs in a folder
  -y, --yes                  ask nothing: SQLite, and all parts

It asks for what the options do not say.
`;

/** The parsed command line. */
export interface CommandLine {
  readonly given: GivenChoices;
  readonly isUnattended: boolean;
  readonly wantsHelp: boolean;
}

/** @throws Mistake for an unknown option or an invalid value */
export function readCommandLine(args: readonly string[], userAgent = ''): CommandLine {
  const { values, positionals } = parse(args);
  if (positionals.length > 1) throw new Mistake(`Only one folder can be made, not ${positionals.join(', ')}`);
  const { database, packages, install, 'package-manager': packageManager } = values;
  const given = {
    folder: positionals[0],
    database: database === undefined ? undefined : oneOf(DATABASES, '--database', database),
    chosen: Object.fromEntries(PART_NAMES.flatMap((part) => (part in values ? [[part, values[part]]] : []))),
    packageManager:
      packageManager === undefined
        ? packageManagerOf(userAgent)
        : oneOf(PACKAGE_MANAGERS, '--package-manager', packageManager),
    install,
    packages,
  };
  return { given, isUnattended: values.yes === true, wantsHelp: values.help === true };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, allowNegative: true });
  } catch (error) {
    throw new Mistake((error as Error).message, { cause: error });
  }
}

function oneOf<Value extends string>(values: readonly Value[], option: string, given: string): Value {
  const found = values.find((value) => value === given);
  if (found === undefined) throw new Mistake(`${option} must be one of ${values.join(', ')}, but got ${given}`);
  return found;
}

/** Finds the package manager that runs this program, from a text such as `pnpm/12.0.0 npm/? node/v24.1.0`. */
function packageManagerOf(userAgent: string): PackageManager | undefined {
  return PACKAGE_MANAGERS.find((name) => userAgent.startsWith(`${name}/`));
}
