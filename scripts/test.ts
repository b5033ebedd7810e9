/**
 * `pnpm test [--suite=fast] [--jobs=2] [--timeout=300] [files]`: runs the files of a suite, or the given ones, each in a
 * process of its own. Prints a line for each file, with the whole output of a file that fails. Then what was skipped and why,
 * then one line of counts.
 *
 * The files write TAP and end it with their counts. tap's own runner would load its hooks for mocks, source maps and
 * coverage into every process, and they take a third of its start.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { countsIn, formatCounts, skippedIn, sumOf } from './tap-results.ts';

const EVERY_TEST = '{docs,examples/*,packages/*}/test/**/*.test.ts';
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
/** What a file whose time is over has for its report. */
const GRACE_MS = 10_000;

const root = fileURLToPath(new URL('..', import.meta.url));
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    suite: { type: 'string', default: 'fast' },
    jobs: { type: 'string', default: '2' },
    timeout: { type: 'string', default: '300' },
  },
});
const env = {
  ...process.env,
  TAP: '1',
  TAP_TIMEOUT: options.timeout,
  // Halves the start of a process. The coverage of the sources is the same with it, range by range (Node 24.21).
  NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
};

const suite = SUITES[options.suite];
if (suite === undefined) throw new Error(`--suite: one of ${Object.keys(SUITES).join(', ')}`);
const files =
  positionals.length > 0 ? positionals.flatMap((pattern) => filesOf(pattern)) : filesOf(suite.files, suite.exclude);
const running = new Set<ReturnType<typeof spawn>>();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    files.length = 0;
    for (const child of running) child.kill(signal);
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

/** Runs one file after the other until none is left. */
async function runFiles(): Promise<void> {
  for (let file = files.shift(); file !== undefined; file = files.shift()) {
    const startedAt = performance.now();
    const { output, end } = await run(file);
    const counts = countsIn(output) ?? { passed: 0, failed: 0, skipped: 0 };
    const isRight = end === 0 && counts.passed + counts.skipped > 0;
    const milliseconds = (performance.now() - startedAt).toFixed(0);
    done += 1;
    if (isRight) console.log(`ok ${done} - ${file} # time=${milliseconds}ms`);
    else console.log(`# ${file}\n${output}not ok ${done} - ${file} # time=${milliseconds}ms, ended with ${end}`);
    hasFailed ||= !isRight;
    total = sumOf(total, isRight || counts.failed > 0 ? counts : { ...counts, failed: 1 });
    for (const [reason, times] of skippedIn(output)) skipped.set(reason, (skipped.get(reason) ?? 0) + times);
  }
}

/** Gives what a file writes, and its exit code or the signal that ended it. */
async function run(file: string): Promise<{ output: string; end: number | NodeJS.Signals | null }> {
  const child = spawn(process.execPath, [file], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] });
  running.add(child);
  // tap itself ends a test whose time is over. It cannot where the test does not let it run.
  const killing = setTimeout(() => child.kill('SIGKILL'), Number(options.timeout) * 1000 + GRACE_MS);
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  clearTimeout(killing);
  running.delete(child);
  return { output, end: child.exitCode ?? child.signalCode };
}
