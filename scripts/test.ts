/**
 * `pnpm test [--suite=fast] [--jobs=2] [--timeout=300] [--own-processes] [--shuffle=seed] [files]`: runs the files of a
 * suite, or the given ones. Prints a line for each file, with the whole output of a file that fails. Then what was skipped
 * and why, then one line of counts.
 *
 * Each job runs its files in one process, one after the other (`test-process/worker.ts`): most of what a file costs is the
 * start, the imports and the compiling. A file that fails, or that changes what the next file would see, ends the process,
 * and the change is a failure. A file with a comment `// Needs a process of its own: …` has one. With `--own-processes`
 * every file has, which is the default under CI and for coverage: there no file can help another.
 *
 * The files write TAP and end it with their counts. tap's own runner would load its hooks for mocks, source maps and
 * coverage into every process, and they take a third of its start.
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { countsIn, formatCounts, skippedIn, sumOf } from './tap-results.ts';
import { type FileResult, killAll, runAlone, SharedProcess } from './test-process/test-process.ts';

const EVERY_TEST = '{docs,examples/*,packages/*,scripts}/test/**/*.test.ts';
/** Compiles all code of the documentation, and runs its programs. */
const DOCS = 'docs/test/{examples,snippets,symbols}.test.ts';
/** Starts a browser for most files. */
const EXPLORER = 'packages/explorer/test/**/*.test.ts';
const SUITES: Readonly<Record<string, { readonly files: string; readonly exclude?: readonly string[] }>> = {
  fast: { files: EVERY_TEST, exclude: [DOCS, EXPLORER] },
  docs: { files: DOCS },
  explorer: { files: EXPLORER },
  every: { files: EVERY_TEST },
};
const OWN_PROCESS = /^\/\/ Needs a process of its own: ./m;

const root = fileURLToPath(new URL('..', import.meta.url));
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: {
    suite: { type: 'string', default: 'fast' },
    jobs: { type: 'string', default: '2' },
    timeout: { type: 'string', default: '300' },
    'own-processes': {
      type: 'boolean',
      default: process.env['CI'] === 'true' || process.env['NODE_V8_COVERAGE'] !== undefined,
    },
    shuffle: { type: 'string' },
  },
});
const env = {
  ...process.env,
  TAP: '1',
  // Halves the start of a process. The coverage of the sources is the same with it, range by range (Node 24.21).
  NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
};

const suite = SUITES[options.suite];
if (suite === undefined) throw new Error(`--suite: one of ${Object.keys(SUITES).join(', ')}`);
const files = inOrder(
  positionals.length > 0 ? positionals.flatMap((pattern) => filesOf(pattern)) : filesOf(suite.files, suite.exclude),
);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    files.length = 0;
    killAll(signal);
  });
}

let done = 0;
let hasFailed = false;
let total = { passed: 0, failed: 0, skipped: 0 };
const skipped = new Map<string, number>();
await Promise.all(Array.from({ length: Number(options.jobs) }, runFiles));

for (const [reason, times] of skipped) console.log(`SKIPPED ${times} × ${reason}`);
if (total.skipped > 0) {
  console.log(
    'With PostgreSQL, PgBouncer, Redis and Python installed, `pnpm with-servers pnpm test` runs these too (see CONTRIBUTING.md).',
  );
}
console.log(formatCounts(total));
process.exitCode = !hasFailed && total.passed > 0 ? 0 : 1;

function filesOf(pattern: string, exclude: readonly string[] = []): string[] {
  const found = globSync(pattern, { cwd: root, exclude }).toSorted();
  if (found.length === 0) throw new Error(`There is no test ${pattern}`);
  return found;
}

/** By their names, or in the order of a seed. */
function inOrder(found: string[]): string[] {
  const seed = options.shuffle;
  if (seed === undefined) return found;
  const place = (file: string): string => createHash('sha1').update(`${seed} ${file}`).digest('hex');
  return found.toSorted((one, other) => (place(one) < place(other) ? -1 : 1));
}

/** Runs one file after the other until none is left. */
async function runFiles(): Promise<void> {
  const processOptions = { cwd: root, env, timeoutMs: Number(options.timeout) * 1000 };
  const shared = new SharedProcess(processOptions);
  for (let file = files.shift(); file !== undefined; file = files.shift()) {
    const startedAt = performance.now();
    const result = needsOwnProcess(file) ? await runAlone(file, processOptions) : await shared.run(file);
    tell(file, result, performance.now() - startedAt);
  }
  shared.stop();
}

function needsOwnProcess(file: string): boolean {
  return options['own-processes'] || OWN_PROCESS.test(readFileSync(resolve(root, file), 'utf8'));
}

function tell(file: string, { output, failure }: FileResult, milliseconds: number): void {
  const counts = countsIn(output) ?? { passed: 0, failed: 0, skipped: 0 };
  const problem = failure ?? (counts.passed + counts.skipped > 0 ? undefined : 'has no test');
  const time = `time=${milliseconds.toFixed(0)}ms`;
  done += 1;
  if (problem === undefined) console.log(`ok ${done} - ${file} # ${time}`);
  else console.log(`# ${file}\n${output}not ok ${done} - ${file} # ${time}, ${problem}`);
  hasFailed ||= problem !== undefined;
  total = sumOf(total, problem === undefined || counts.failed > 0 ? counts : { ...counts, failed: 1 });
  for (const [reason, times] of skippedIn(output)) skipped.set(reason, (skipped.get(reason) ?? 0) + times);
}
