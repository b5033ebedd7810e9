/**
 * `pnpm check`: everything that CI runs, one gate after the other, and a line of counts at the end.
 *
 * A gate is a command of its own that a person can run alone (its line says which). All of them run even where one has
 * failed, so that one run tells everything.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Counts, formatCounts } from './tap-results.ts';

interface Gate {
  readonly name: string;
  readonly command: string;
  /** Whether the command's own last line of counts is added to the total, instead of one for the gate. */
  readonly counts?: boolean;
  /** Environment variables of its own. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the command's last line is said again at the end. */
  readonly isFigure?: boolean;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const [demoCommand, testCommand] = readmeCommands();
/** What the processes of the tests say that they ran. */
const coverage = mkdtempSync(join(tmpdir(), 'viewset-coverage-'));
process.on('exit', () => rmSync(coverage, { recursive: true, force: true }));

const gates: readonly Gate[] = [
  { name: 'install, as the lockfile says', command: 'pnpm install --frozen-lockfile' },
  { name: 'lockfile', command: 'node scripts/check-lockfile.ts' },
  { name: 'types, with the tests of types', command: 'pnpm typecheck' },
  { name: 'lint', command: 'pnpm lint' },
  { name: 'format', command: 'pnpm format:check' },
  { name: 'build', command: 'pnpm build' },
  { name: 'the documentation as a site', command: 'pnpm docs:build', isFigure: true },
  { name: 'packages as published', command: 'node scripts/check-packages.ts' },
  { name: "the README's demo command", command: `node scripts/check-demo.ts /health/,/api/products ${demoCommand}` },
  { name: 'the demo of the tracker', command: 'node scripts/check-demo.ts /health/,/openapi.json pnpm demo:tracker' },
  { name: 'the demo of Conduit', command: 'node scripts/check-demo.ts /health/,/api/articles pnpm demo:conduit' },
  { name: "the README's test command", command: testCommand, counts: true, env: { NODE_V8_COVERAGE: coverage } },
  {
    name: 'the code of the documentation',
    command: 'pnpm test:docs',
    counts: true,
    env: { NODE_V8_COVERAGE: coverage },
  },
  {
    name: 'what is made for an application, and mistakes, by the compiler',
    command: 'pnpm test:compiler',
    counts: true,
    env: { NODE_V8_COVERAGE: coverage },
  },
  {
    name: 'the explorer in a browser',
    command: 'pnpm test:explorer',
    counts: true,
    env: { NODE_V8_COVERAGE: coverage },
  },
  {
    name: 'coverage',
    command: 'node scripts/coverage.ts --report',
    env: { NODE_V8_COVERAGE: coverage },
    isFigure: true,
  },
  {
    name: 'the tests without servers, many in one process, in random order',
    command: `node scripts/test.ts --without-servers --shuffle=${Date.now()}`,
  },
  { name: 'who notices a misspelt name first', command: 'pnpm mutate --each 8' },
  { name: 'the newest MikroORM', command: 'node scripts/check-newest-mikro-orm.ts' },
  { name: 'faults, under load', command: 'pnpm test:faults', counts: true },
  { name: 'requests at random, compared with a model', command: 'pnpm fuzz --seconds 60' },
  {
    name: 'requests of Schemathesis, as the document describes them',
    command: 'pnpm test:schemathesis',
    counts: true,
    env: { SCHEMATHESIS_EXAMPLES: '20', SCHEMATHESIS_PHASES: 'examples,fuzzing,stateful', SCHEMATHESIS_SEED: '1' },
  },
  { name: 'the official collection of RealWorld', command: 'pnpm test:collection', counts: true },
  { name: 'linters of the documents', command: 'pnpm test:linters', counts: true },
  { name: 'clients that generators make of the documents', command: 'pnpm test:generators', counts: true },
  { name: 'no file of the repository was changed by all this', command: 'node scripts/check-clean.ts' },
];

const total = { passed: 0, failed: 0, skipped: 0 };
const figures: string[] = [];
const failures: string[] = [];
for (const gate of gates) {
  console.log(`\n── ${gate.name}: ${gate.command}`);
  const startedAt = Date.now();
  const { code, lines } = await run(gate);
  const lastLine = lines.at(-1) ?? '';
  if (gate.isFigure === true) figures.push(lastLine);
  if (code !== 0) failures.push(`\n── FAILED: ${gate.name}: ${gate.command}`, ...reasonsIn(lines));
  const counts = (gate.counts === true ? parseCounts(lastLine) : undefined) ?? { passed: 0, failed: 0, skipped: 0 };
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  console.log(`── ${code === 0 ? 'ok' : 'FAILED'} in ${seconds} s: ${gate.name}`);
  total.passed += counts.passed + (code === 0 ? 1 : 0);
  total.failed += counts.failed + (code === 0 ? 0 : 1);
  total.skipped += counts.skipped;
}
// Said again at the end: where a log is cut, its end is what a person gets to see.
for (const line of failures) console.log(line);
console.log(`\n${[...figures, formatCounts(total)].join('\n')}`);
process.exitCode = total.failed === 0 ? 0 : 1;

/** Runs a shell command with its output passed on; also gives the lines that it printed, without the blank ones. */
async function run({ command, env }: Gate): Promise<{ code: number; lines: readonly string[] }> {
  const child = spawn(command, {
    cwd: root,
    shell: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    process.stdout.write(chunk);
    text += chunk;
  });
  return new Promise((resolve) => {
    child.on('close', (code) => {
      resolve({ code: code ?? 1, lines: text.split('\n').filter((line) => line.trim() !== '') });
    });
  });
}

/** The lines that say what failed: the tests that did not pass, or the end of the output where no line names one. */
function reasonsIn(lines: readonly string[]): readonly string[] {
  const tests = lines.filter((line) => /^\s*not ok \d/.test(line));
  return tests.length > 0 ? tests.slice(0, 60) : lines.slice(-30);
}

function parseCounts(line: string): Counts | undefined {
  const match = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/.exec(line);
  if (match === null) return undefined;
  return { passed: Number(match[1]), failed: Number(match[2]), skipped: Number(match[3] ?? 0) };
}

/** What the README promises a newcomer, word for word: the two commands of its first shell block. */
function readmeCommands(): readonly [demo: string, test: string] {
  const block = /```sh\n(.*?)```/s.exec(readFileSync(`${root}README.md`, 'utf8'))?.[1] ?? '';
  const commands = block.split('\n').map((line) => line.replace(/\s+#.*$/, '').trim());
  const named = (name: string): string => {
    const command = commands.find((line) => line.endsWith(` pnpm ${name}`));
    if (command === undefined) throw new Error(`README.md: its first sh block has no "… pnpm ${name}"`);
    return command;
  };
  return [named('demo'), named('test')];
}
