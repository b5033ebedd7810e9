/**
 * `pnpm test [tap's arguments]`: every test under tap, then what was skipped and why, then one line of counts.
 *
 * On a terminal tap's own reporter shows the progress. Into a log goes one line a file, and the whole of what failed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { formatCounts, readTap } from './tap-results.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const tap = fileURLToPath(new URL('run.mjs', import.meta.resolve('tap')));
const forPerson = process.stdout.isTTY;
const resultsFile = `${root}.tap/results.tap`;

mkdirSync(`${root}.tap`, { recursive: true });
const output = forPerson ? `--output-file=${resultsFile}` : '--reporter=tap';
const child = spawn(process.execPath, [tap, output, ...process.argv.slice(2)], {
  cwd: root,
  stdio: ['inherit', forPerson ? 'inherit' : 'pipe', 'inherit'],
});
const exited = once(child, 'exit');
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));

const text = child.stdout === null ? undefined : await passOn(child.stdout);
const [code] = (await exited) as [number | null];
const { counts, skipped } = readTap(text ?? readFileSync(resultsFile, 'utf8'));
for (const [reason, times] of skipped) console.log(`SKIPPED ${times} × ${reason}`);
if (counts.skipped > 0) {
  console.log(
    'With PostgreSQL, PgBouncer, Redis and Python installed, `pnpm with-servers pnpm test` runs these too (see CONTRIBUTING.md).',
  );
}
console.log(formatCounts(counts));
process.exitCode = code === 0 && counts.passed > 0 ? 0 : 1;

/**
 * Prints tap's output in short, and gives the whole of it. The lines of a test file stand indented between a heading
 * and its own `ok` or `not ok`: they are kept back until that is known.
 */
async function passOn(stream: NodeJS.ReadableStream): Promise<string> {
  const all: string[] = [];
  let pending: string[] = [];
  for await (const line of createInterface({ input: stream })) {
    all.push(line);
    if (line.startsWith('# Subtest')) pending = [];
    pending.push(line);
    if (/^not ok \d/.test(line)) for (const held of pending) console.log(held);
    if (/^ok \d/.test(line)) console.log(line);
  }
  return all.join('\n');
}
