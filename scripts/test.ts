/**
 * `pnpm test [options] [files and folders]`: runs the files of a suite, or the given ones. Prints a line for each file. Then it
 * prints what was skipped and why, each failure with its file, titles, line and difference, and one line of counts.
 *
 * | option | effect |
 * |---|---|
 * | `--suite=fast` | which files: `fast`, `docs`, `compiler`, `explorer`, `faults`, `every` |
 * | `--changed`, `--since=HEAD` | only the files that the changes since a commit concern |
 * | `--watch` | runs the changed files again, each time that a file changes |
 * | `--only` | runs only the tests that are marked by `t.only` |
 * | `--verbose` | prints the whole output of a file that fails |
 * | `--jobs=2` | how many processes; default: by the cores and the load of the machine |
 * | `--idle=120` | how many seconds a file may wait without using the processor; no limit in wall-clock time ends a file |
 * | `--own-processes` | gives each file its own process |
 * | `--without-servers` | runs as on a machine without servers, under CI too |
 * | `--shuffle=seed`, `--sample=12` | in the order of a seed; only each twelfth file of it |
 *
 * Each job runs its files in one process, one after the other (`test-process/worker.ts`): most of what a file costs is the
 * start, the imports and the compiling. A file that fails, or that changes what the next file would see, ends the process,
 * and the change is a failure. A file with a comment `// Needs a process of its own: …` has one. Under CI the order of the files is
 * that of the commit, so that no file passes because of another.
 *
 * The files write TAP and end it with their counts. tap's own runner would start a process for each file.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, readFileSync, statSync, watch } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { countsIn, formatCounts, skippedIn, sumOf } from './tap-results.ts';
import { changedTests } from './test-process/changed-tests.ts';
import { type EndedFile, failuresOf, lineOf } from './test-process/report.ts';
import { killAll, type ProcessOptions, runAlone, SharedProcess } from './test-process/test-process.ts';

const EVERY_TEST = '{docs,examples/*,packages/*,scripts}/test/**/*.test.ts';
/** Compiles all code of the documentation, and runs its programs. */
const DOCS = 'docs/test/{examples,snippets,symbols}.test.ts';
/** Compile applications and programs. */
const COMPILER = 'packages/{cli/test/add-resource,core/test/editor/messages}.test.ts';
/** Starts a browser for most files. */
const EXPLORER = 'packages/explorer/test/**/*.test.ts';
const SUITES: Readonly<Record<string, { readonly files: string; readonly exclude?: readonly string[] }>> = {
  fast: { files: EVERY_TEST, exclude: [DOCS, COMPILER, EXPLORER] },
  docs: { files: DOCS },
  compiler: { files: COMPILER },
  explorer: { files: EXPLORER },
  every: { files: EVERY_TEST },
};
const SEPARATE_PROCESS = /^\/\/ Needs a process of its own: ./m;
/** How long `--watch` waits for further changes, in milliseconds. */
const SETTLE_MS = 200;

/** A mistake in the command line: its message is all that a person needs. */
class WrongOption extends Error {}

const root = fileURLToPath(new URL('..', import.meta.url));
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    suite: { type: 'string', default: 'fast' },
    changed: { type: 'boolean', default: false },
    since: { type: 'string', default: 'HEAD' },
    watch: { type: 'boolean', default: false },
    only: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    jobs: { type: 'string', default: String(jobsFor(availableParallelism(), loadavg()[0]!)) },
    idle: { type: 'string', default: '120' },
    'own-processes': { type: 'boolean', default: false },
    'without-servers': { type: 'boolean', default: false },
    shuffle: { type: 'string' },
    sample: { type: 'string', default: '1' },
  },
});
const isInherited = (name: string): boolean => !options['without-servers'] || !/^(CI|TEST_\w+_URL)$/.test(name);
const env: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => isInherited(name))),
  TAP: '1',
  // Applications that listen do not look for missing tables beside the queries of a test.
  NODE_ENV: process.env['NODE_ENV'] ?? 'test',
  ...(options.only ? { TAP_ONLY: '1' } : {}),
  // Halves the start of a process. The coverage of the sources is the same with it, range by range (Node 24.21).
  NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
};
const processOptions: ProcessOptions = { cwd: root, env, idleMs: Number(options.idle) * 1000 };
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    killAll(signal);
    process.exit(1);
  });
}

try {
  const files = chosenFiles();
  if (options.watch) await runOnChanges(files);
  else process.exitCode = (await runFiles(options.changed ? changed(files) : files)) ? 0 : 1;
} catch (error) {
  if (!(error instanceof WrongOption)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

/** The files of the suite or of the command line, in the order of the run. */
function chosenFiles(): readonly string[] {
  const suite = SUITES[options.suite];
  const suites = Object.keys(SUITES).join(', ');
  if (suite === undefined) throw new WrongOption(`--suite is "${options.suite}"; expected one of ${suites}`);
  const found =
    positionals.length > 0
      ? [...new Set(positionals.flatMap((pattern) => filesOf(pattern)))]
      : filesOf(suite.files, suite.exclude);
  const seed = options.shuffle ?? (process.env['CI'] === 'true' ? commit() : undefined);
  if (seed !== undefined) console.log(`In the order of --shuffle=${seed}`);
  return inOrder(found, seed).filter((_file, index) => index % Number(options.sample) === 0);
}

function filesOf(pattern: string, exclude: readonly string[] = []): readonly string[] {
  const isFolder = statSync(join(root, pattern), { throwIfNoEntry: false })?.isDirectory() === true;
  const found = globSync(isFolder ? `${pattern}/**/*.test.ts` : pattern, { cwd: root, exclude }).toSorted();
  if (found.length > 0) return found;
  throw new WrongOption(
    `No test file has the path ${pattern}. Paths begin at the root of the repository, such as packages/core/test/errors/errors.test.ts`,
  );
}

function changed(files: readonly string[]): readonly string[] {
  const concerned = changedTests(root, files, options.since);
  console.log(`The changes since ${options.since} concern ${concerned.length} of ${files.length} files`);
  return concerned;
}

/** By their names, or in the order of a seed. */
function inOrder(found: readonly string[], seed: string | undefined): readonly string[] {
  if (seed === undefined) return found;
  const place = (file: string): string => createHash('sha1').update(`${seed} ${file}`).digest('hex');
  return found.toSorted((one, other) => (place(one) < place(other) ? -1 : 1));
}

/** Runs the files that a change concerns, after each change, until the process is ended. */
async function runOnChanges(files: readonly string[]): Promise<void> {
  for (;;) {
    await runFiles(changed(files));
    console.log('Waiting for a change; end with Ctrl+C');
    await change();
  }
}

/** Resolves when a file of the workspace has changed, and no further one changes. */
function change(): Promise<void> {
  return new Promise((done) => {
    let settled: NodeJS.Timeout | undefined;
    const watchers = ['docs', 'examples', 'packages', 'scripts'].map((folder) =>
      watch(join(root, folder), { recursive: true }, (_event, file) => {
        if (file === null || /node_modules|\bdist\b/.test(file)) return;
        clearTimeout(settled);
        settled = setTimeout(() => {
          for (const each of watchers) each.close();
          done();
        }, SETTLE_MS);
      }),
    );
  });
}

/** Runs files and reports them. Returns true if there was a test, and all have passed. */
async function runFiles(files: readonly string[]): Promise<boolean> {
  const waiting = [...files];
  const failed: EndedFile[] = [];
  const skipped = new Map<string, number>();
  let total = { passed: 0, failed: 0, skipped: 0 };
  let done = 0;
  const report = (ended: EndedFile): void => {
    done += 1;
    console.log(lineOf(ended, `${done}/${files.length}`));
    if (ended.problem !== undefined) failed.push(ended);
    if (ended.problem !== undefined && options.verbose) console.log(ended.result.output);
    const { counts } = ended;
    total = sumOf(total, ended.problem === undefined || counts.failed > 0 ? counts : { ...counts, failed: 1 });
    for (const [reason, times] of skippedIn(ended.result.output)) {
      skipped.set(reason, (skipped.get(reason) ?? 0) + times);
    }
  };
  await Promise.all(Array.from({ length: Number(options.jobs) }, () => runJob(waiting, report)));
  for (const [reason, times] of skipped) console.log(`SKIPPED ${times} × ${reason}`);
  if (total.skipped > 0) {
    console.log(
      'With PostgreSQL, PgBouncer, Redis and Python installed, `pnpm with-servers pnpm test` runs these too (see CONTRIBUTING.md).',
    );
  }
  for (const each of failed) console.log(`\n${failuresOf(each)}`);
  console.log(`${failed.length > 0 ? '\n' : ''}${formatCounts(total)}`);
  return failed.length === 0 && (total.passed > 0 || files.length === 0);
}

/** Runs one file after the other until none is left. */
async function runJob(waiting: string[], report: (ended: EndedFile) => void): Promise<void> {
  const shared = new SharedProcess(processOptions);
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
    const startedAt = performance.now();
    const result = needsSeparateProcess(file) ? await runAlone(file, processOptions) : await shared.run(file);
    const counts = countsIn(result.output) ?? { passed: 0, failed: 0, skipped: 0 };
    const problem = result.failure ?? (counts.passed + counts.skipped > 0 ? undefined : 'has no test');
    report({ file, result, counts, problem, milliseconds: performance.now() - startedAt });
  }
  shared.stop();
}

function needsSeparateProcess(file: string): boolean {
  return options['own-processes'] || SEPARATE_PROCESS.test(readFileSync(resolve(root, file), 'utf8'));
}

/** One process for each core, and fewer on a machine that is busy with other work. */
function jobsFor(cores: number, load: number): number {
  return process.env['CI'] === 'true' ? cores : Math.max(1, Math.min(cores, Math.round(cores - load / 2)));
}

/** The hash of the commit; zeros outside of a git work tree. */
function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  } catch {
    return '0000000';
  }
}
