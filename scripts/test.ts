/**
 * `pnpm test [tap's arguments]`: every test under tap, then what was skipped and why, then one line of counts.
 *
 * On a terminal tap's own reporter shows the progress. Into a log goes one line a file, and the whole of what failed.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { formatCounts, readTap } from './tap-results.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const results = `${root}.tap/results.tap`;
const tap = fileURLToPath(import.meta.resolve('tap')).replace(/commonjs\/index\.js$|esm\/index\.js$/, 'esm/run.mjs');

mkdirSync(dirname(results), { recursive: true });
const reporter = process.stdout.isTTY ? [] : ['--reporter=tap'];
const child = spawn(process.execPath, [tap, `--output-file=${results}`, ...reporter, ...process.argv.slice(2)], {
  cwd: root,
  stdio: ['inherit', process.stdout.isTTY ? 'inherit' : 'pipe', 'inherit'],
});
if (child.stdout !== null) void printCompactly(child.stdout);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));

child.on('close', (code) => {
  const { counts, skipped } = readTap(readFileSync(results, 'utf8'));
  for (const [reason, times] of skipped) console.log(`SKIPPED ${times} × ${reason}`);
  if (counts.skipped > 0) {
    console.log(
      'To run them too: pnpm with-servers pnpm test   (PostgreSQL and Redis must be installed; see CONTRIBUTING.md)',
    );
  }
  console.log(formatCounts(counts));
  process.exitCode = code === 0 && counts.passed > 0 ? 0 : 1;
});

/** A test file's lines stand indented until its own `ok` or `not ok`: keep them until that is known. */
async function printCompactly(output: NodeJS.ReadableStream): Promise<void> {
  let pending: string[] = [];
  let failed = false;
  for await (const line of createInterface({ input: output })) {
    if (/^ok \d/.test(line)) {
      console.log(line);
      pending = [];
      failed = false;
    } else if (/^not ok \d/.test(line)) {
      failed = true;
      for (const text of pending) console.log(text);
      console.log(line);
      pending = [];
    } else if (failed && /^ {2}\S/.test(line)) {
      console.log(line);
    } else {
      failed = false;
      pending.push(line);
    }
  }
}
