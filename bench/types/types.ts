import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runTypeChecker } from '../../scripts/type-checker.ts';
import { writeApplication } from './application.ts';

/** The cost of an application to the compiler, and so to an editor. */
export interface TypeCost {
  readonly application: string;
  /** True: of the packages as they are published; false: of their sources, as in this repository. */
  readonly isPacked: boolean;
  /** Of one checker. The compiler has several, each of which creates most types again. */
  readonly types: number;
  readonly instantiations: number;
  readonly checkSeconds: number;
  /** From start to end, the median of the rounds. */
  readonly totalSeconds: number;
}

const APPLICATIONS = [
  { application: 'one view', views: 1, hasClient: false },
  { application: 'ten views', views: 10, hasClient: false },
  { application: 'fifty views', views: 50, hasClient: false },
  { application: 'fifty views and their client', views: 50, hasClient: true },
] as const;

const PACKAGES = ['core', 'client'] as const;
const root = fileURLToPath(new URL('../..', import.meta.url));
// Inside the bench, so that the applications find its packages.
const scratch = join(root, 'bench/.types');

/**
 * Measures the check of applications of one view to fifty.
 *
 * @param rounds how often the total time is measured
 * @param kinds true: against the declarations of the packages, as published; false: against their sources
 */
export function typeCosts(rounds: number, kinds: readonly boolean[] = [true, false]): TypeCost[] {
  rmSync(scratch, { recursive: true, force: true });
  try {
    for (const name of PACKAGES) declare(name);
    return kinds.flatMap((isPacked) =>
      APPLICATIONS.map((each, index) => {
        const folder = join(scratch, `${isPacked ? 'packed' : 'sources'}-${index}`);
        writeApplication(folder, each.views, each.hasClient);
        writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(configOf(isPacked)));
        return { application: each.application, isPacked, ...costOf(folder, rounds) };
      }),
    );
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Writes the declarations of a package, as its build does. */
function declare(name: string): void {
  const folder = join(root, 'packages', name);
  const outDir = join(scratch, 'declarations', name);
  mkdirSync(outDir, { recursive: true });
  run(folder, ['-p', 'tsconfig.build.json', '--declaration', '--emitDeclarationOnly', '--outDir', outDir]);
}

function configOf(isPacked: boolean): object {
  const entryOf = (name: string): string =>
    isPacked ? `../declarations/${name}/index.d.ts` : `../../../packages/${name}/src/index.ts`;
  const paths = Object.fromEntries(PACKAGES.map((name) => [`@viewset/${name}`, [entryOf(name)]]));
  const compilerOptions = { lib: ['es2024', 'dom'], paths };
  return { extends: '../../../tsconfig.base.json', compilerOptions, include: ['*.ts'] };
}

function costOf(folder: string, rounds: number): Omit<TypeCost, 'application' | 'isPacked'> {
  const alone = figuresOf(folder, ['--checkers', '1']);
  const totals = Array.from({ length: rounds }, () => figuresOf(folder, []).get('Total time') ?? 0).toSorted(
    (a, b) => a - b,
  );
  return {
    types: alone.get('Types') ?? 0,
    instantiations: alone.get('Instantiations') ?? 0,
    checkSeconds: alone.get('Check time') ?? 0,
    totalSeconds: totals[Math.floor(totals.length / 2)] ?? 0,
  };
}

/** The figures of `--extendedDiagnostics` by their names. */
function figuresOf(folder: string, options: readonly string[]): Map<string, number> {
  const said = run(folder, ['-p', '.', '--extendedDiagnostics', ...options]);
  return new Map([...said.matchAll(/^([A-Z][\w ]+):\s+([\d.]+)/gm)].map(([, name, figure]) => [name!, Number(figure)]));
}

function run(cwd: string, args: readonly string[]): string {
  const { isWrong, output } = runTypeChecker(cwd, args);
  if (isWrong) throw new Error(`The compiler finds mistakes in ${cwd}:\n${output.slice(0, 2000)}`);
  return output;
}
