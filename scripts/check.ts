/**
 * `pnpm check [--share]`: runs everything that guards the project, two gates at a time, and prints a line of counts at the end.
 *
 * A gate is a command that a person can run alone; its line shows it. All gates run even if one has failed, so that one run
 * reports everything. The output of a gate is printed when it has ended, because the output of two would be mixed.
 *
 * With `--share`, as `.ci/run` calls it, each gate about the world outside (generators, linters, newer libraries) runs only
 * for a share of the commits, which the hash of the commit chooses. The log names the gates that were left out. `pnpm check`
 * alone runs all of them, and so does the workflow of a release.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Counts, formatCounts } from './tap-results.ts';

interface Gate {
  readonly name: string;
  readonly command: string;
  /** True if the counts in the last line of the command are added to the total. Otherwise a gate counts as one test. */
  readonly counts?: boolean;
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** True if the last line of the command is repeated at the end. */
  readonly isFigure?: boolean;
  /** True if the gate runs alone: it changes files that other gates read, or reads files that they write. */
  readonly isAlone?: boolean;
  /** A name that no two gates have which run at the same time, such as a folder that both write. */
  readonly uses?: string;
  /** The gate runs for one commit in this many, if `--share` is given. Default: for every commit. */
  readonly share?: number;
}

/** The cores of the machines of CI. A gate uses one and a half of them. */
const LANES = 2;
const root = fileURLToPath(new URL('..', import.meta.url));
const { values: options } = parseArgs({ options: { share: { type: 'boolean', default: false } } });
const [demoCommand, testCommand] = readmeCommands();
const commit = commitHash();
/** The counts that the processes of the tests report. */
const coverage = mkdtempSync(join(tmpdir(), 'viewset-coverage-'));
process.on('exit', () => rmSync(coverage, { recursive: true, force: true }));
const covered = { NODE_V8_COVERAGE: coverage };

/** The tests of the shop's responses. The others start processes with their options, or do not use PostgreSQL. */
const SHOP_TESTS =
  "'examples/shop/test/!(client|deployment|explorer|lifecycle|migrations|openapi|pgbouncer|processes|redis-client|settings|start|terminal|throttling-together).test.ts'";

/** In the order in which they begin: a gate that takes long begins early, so that the other lane is not idle at the end. */
const gates: readonly Gate[] = [
  { name: 'install, as the lockfile says', command: 'pnpm install --frozen-lockfile', isAlone: true },
  { name: "the README's test command", command: testCommand, counts: true, env: covered },
  { name: 'lockfile', command: 'node scripts/check-lockfile.ts' },
  { name: 'format', command: 'pnpm format:check' },
  { name: 'types, with the tests of types', command: 'pnpm typecheck' },
  { name: 'lint', command: 'pnpm lint' },
  { name: 'the code of the documentation', command: 'pnpm test:docs', counts: true, env: covered },
  { name: 'the explorer in a browser', command: 'pnpm test:explorer', counts: true, env: covered },
  {
    name: 'applications that are made, and mistakes, by the compiler',
    command: 'pnpm test:compiler',
    counts: true,
    env: covered,
  },
  { name: 'what applications cost the compiler', command: 'node bench/types/ceilings.ts' },
  { name: 'build', command: 'pnpm build', uses: 'dist' },
  { name: 'the documentation as a site', command: 'pnpm docs:build', isFigure: true },
  { name: 'packages as published', command: 'node scripts/check-packages.ts', uses: 'dist' },
  { name: "the README's demo command", command: `node scripts/check-demo.ts /health/,/api/products ${demoCommand}` },
  { name: 'the demo of the tracker', command: 'node scripts/check-demo.ts /health/,/openapi.json pnpm demo:tracker' },
  { name: 'the demo of Conduit', command: 'node scripts/check-demo.ts /health/,/api/articles pnpm demo:conduit' },
  {
    name: 'the shop, with serializable transactions on PostgreSQL',
    command: `node scripts/test.ts ${SHOP_TESTS}`,
    counts: true,
    env: { PGOPTIONS: '-c default_transaction_isolation=serializable' },
  },
  { name: 'faults, under load', command: 'pnpm test:faults', counts: true },
  { name: 'requests at random, compared with a model', command: `pnpm fuzz --seconds 30` },
  { name: 'the official collection of RealWorld', command: 'pnpm test:collection', counts: true },
  {
    name: 'some tests without servers, each in its own process, in the order of the commit',
    command: `node scripts/test.ts --without-servers --own-processes --shuffle=${commit} --sample=12`,
    env: { SHOP_PROCESSES: '1' },
  },
  { name: 'misspelt names', command: 'pnpm mutate --each 8', share: 2 },
  { name: 'the newest MikroORM', command: 'node scripts/check-newest-mikro-orm.ts', share: 4 },
  {
    name: 'requests of Schemathesis, as the document describes them',
    command: 'pnpm test:schemathesis',
    counts: true,
    env: options.share
      ? { SCHEMATHESIS_EXAMPLES: '8', SCHEMATHESIS_PHASES: 'examples,fuzzing,stateful', SCHEMATHESIS_SEED: '1' }
      : { SCHEMATHESIS_EXAMPLES: '20', SCHEMATHESIS_PHASES: 'examples,fuzzing,stateful', SCHEMATHESIS_SEED: '1' },
    share: 3,
  },
  { name: 'linters of the documents', command: 'pnpm test:linters', counts: true, share: 3 },
  { name: 'clients that generators make of the documents', command: 'pnpm test:generators', counts: true, share: 3 },
  // npm installs 122 packages for it, so it is not a dependency of the workspace.
  { name: 'the official conformance suite of MCP', command: 'pnpm test:conformance', counts: true, share: 2 },
  { name: 'coverage', command: 'node scripts/coverage.ts --report', env: covered, isFigure: true, isAlone: true },
  { name: 'no file of the repository was changed', command: 'node scripts/check-clean.ts', isAlone: true },
];

const total = { passed: 0, failed: 0, skipped: 0 };
const figures: string[] = [];
const failures: string[] = [];
const startedAt = Date.now();
const waiting = gates.filter(isChosen);
const running = new Map<Gate, Promise<void>>();
for (;;) {
  for (let next = nextGate(); next !== undefined; next = nextGate()) begin(next);
  if (running.size === 0) break;
  await Promise.race(running.values());
}
// Repeated at the end: if a log is cut, a person sees its end.
for (const line of failures) console.log(line);
console.log(`\n${gates.length} gates in ${secondsSince(startedAt)} s`);
console.log([...figures, formatCounts(total)].join('\n'));
process.exitCode = total.failed === 0 ? 0 : 1;

/** Reports if a gate runs for this commit. Different gates with the same share run for different commits. */
function isChosen(gate: Gate, index: number): boolean {
  const { share = 1, name, command } = gate;
  if (!options.share || (Number.parseInt(commit.slice(0, 8), 16) + index) % share === 0) return true;
  console.log(`── left out for this commit, runs for one in ${share}: ${name}: ${command}`);
  return false;
}

/** Takes the first gate that may run together with the running ones; undefined if none may. */
function nextGate(): Gate | undefined {
  const now = [...running.keys()];
  if (now.length >= LANES || now.some(({ isAlone }) => isAlone)) return undefined;
  // A gate that runs alone waits for all before it, and all after it wait for the gate.
  const alone = waiting.findIndex(({ isAlone }) => isAlone);
  const candidates = alone === -1 ? waiting : waiting.slice(0, alone);
  const free = candidates.find(({ uses }) => uses === undefined || now.every((gate) => gate.uses !== uses));
  const next = free ?? (candidates.length === 0 && now.length === 0 ? waiting[alone] : undefined);
  if (next !== undefined) waiting.splice(waiting.indexOf(next), 1);
  return next;
}

function begin(gate: Gate): void {
  console.log(`── begins after ${secondsSince(startedAt)} s: ${gate.name}: ${gate.command}`);
  running.set(
    gate,
    runGate(gate).finally(() => running.delete(gate)),
  );
}

async function runGate(gate: Gate): Promise<void> {
  const gateStartedAt = Date.now();
  const { code, output, printed } = await run(gate);
  const lines = printed.split('\n').filter((line) => line.trim() !== '');
  const lastLine = lines.at(-1) ?? '';
  if (gate.isFigure === true) figures.push(lastLine);
  if (code !== 0) failures.push(`\n── FAILED: ${gate.name}: ${gate.command}`, ...reasonsIn(lines));
  const counts = (gate.counts === true ? parseCounts(lastLine) : undefined) ?? { passed: 0, failed: 0, skipped: 0 };
  total.passed += counts.passed + (code === 0 ? 1 : 0);
  total.failed += counts.failed + (code === 0 ? 0 : 1);
  total.skipped += counts.skipped;
  console.log(`\n── ${gate.name}: ${gate.command}\n${output.trimEnd()}`);
  console.log(`── ${code === 0 ? 'ok' : 'FAILED'} in ${secondsSince(gateStartedAt)} s: ${gate.name}\n`);
}

/** Runs a shell command. Returns its exit code, its output, and its output together with its errors. */
async function run({
  command,
  env,
}: Gate): Promise<{ readonly code: number; readonly output: string; readonly printed: string }> {
  const child: ChildProcess = spawn(command, {
    cwd: root,
    shell: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  let [output, printed] = ['', ''];
  child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
    printed += chunk;
  });
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  return new Promise((resolve) => {
    child.on('close', (code) => resolve({ code: code ?? 1, output, printed }));
  });
}

function secondsSince(time: number): string {
  return ((Date.now() - time) / 1000).toFixed(1);
}

/** The hash of the commit, which chooses shares and orders; zeros outside of a git work tree. */
function commitHash(): string {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  } catch {
    return '0'.repeat(40);
  }
}

/** The failures that `scripts/test.ts` reports last, or the end of the output if no line does. */
function reasonsIn(lines: readonly string[]): readonly string[] {
  const firstFailure = lines.findIndex((line) => /\.test\.ts: /.test(line));
  return firstFailure === -1 ? lines.slice(-30) : lines.slice(firstFailure).slice(0, 200);
}

function parseCounts(line: string): Counts | undefined {
  const match = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/.exec(line);
  if (match === null) return undefined;
  return { passed: Number(match[1]), failed: Number(match[2]), skipped: Number(match[3] ?? 0) };
}

/** The two commands of the README's shell blocks, exactly as a newcomer runs them. */
function readmeCommands(): readonly [demo: string, test: string] {
  const blocks = readFileSync(`${root}README.md`, 'utf8').matchAll(/```sh\n(.*?)```/gs);
  const commands = [...blocks].flatMap(([, block = '']) => block.split('\n')).map((line) => line.trim());
  const named = (name: string): string => {
    const command = commands.find((line) => line.endsWith(` pnpm ${name}`));
    if (command === undefined) throw new Error(`README.md: no sh block has "… pnpm ${name}"`);
    return command;
  };
  return [named('demo'), named('test')];
}
