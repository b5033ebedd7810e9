/**
 * `node bench/outbox/outbox.ts --events 6000 --subjects 200 --workers 2 --rounds 3 --against <commit>`: how many events per second workers
 * deliver on PostgreSQL, in the order of their subjects. The events are stored before the workers start, and the handler does nothing. With
 * a commit, its workers take turns with these, and the ratio is printed. pg-boss takes turns too, with a queue that keeps the order of a
 * key. It needs TEST_POSTGRES_URL, and creates separate databases.
 */
import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import type { Delivered, Job } from './worker.ts';

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '6000' },
    subjects: { type: 'string', default: '200' },
    workers: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    against: { type: 'string' },
    'pg-boss': { type: 'boolean', default: false },
  },
});
const [events, subjects, workers, rounds] = [values.events, values.subjects, values.workers, values.rounds].map(
  Number,
) as [number, number, number, number];

const server = process.env['TEST_POSTGRES_URL'];
if (server === undefined) throw new Error('TEST_POSTGRES_URL is not set');
const root = fileURLToPath(new URL('../..', import.meta.url));
const current = join(root, 'packages/outbox/src/index.ts');

const before = values.against === undefined ? undefined : sourceOf(values.against);
const engines: [name: string, source: string][] = [['these workers', current]];
if (before !== undefined) engines.unshift([values.against!, join(before, 'packages/outbox/src/index.ts')]);
if (values['pg-boss']) engines.push(['pg-boss', 'pg-boss']);
const rates = new Map(engines.map(([name]) => [name, [] as number[]]));
try {
  for (let round = 0; round < rounds; round++) {
    for (const [name, source] of engines) rates.get(name)!.push(await inDatabase((url) => rateOf(url, source)));
  }
} finally {
  if (before !== undefined) rmSync(before, { recursive: true });
}
const medians = [...rates].map(([name, all]) => [name, median(all)] as const);
const [, ours] = medians.find(([name]) => name === 'these workers')!;
for (const [name, rate] of medians) {
  console.log(`${name}: ${rate.toFixed(0)} events/s (${(ours / rate).toFixed(2)} × for these workers)`);
}

/** The source of the package at a commit, next to the current one, so that it finds the same dependencies. */
function sourceOf(commit: string): string {
  const folder = mkdtempSync(join(root, 'packages/outbox/before-'));
  const archive = execFileSync('git', ['archive', commit, 'packages/outbox/src'], { cwd: root, maxBuffer: 2 ** 28 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  return folder;
}

/** Runs something in an empty database. */
async function inDatabase<Result>(run: (url: string) => Promise<Result>): Promise<Result> {
  const name = `viewset_bench_${randomBytes(4).toString('hex')}`;
  const url = new URL(server!);
  url.pathname = `/${name}`;
  await administrate(`create database "${name}"`);
  try {
    return await run(url.href);
  } finally {
    await administrate(`drop database "${name}" with (force)`);
  }
}

/** Stores the events, starts the workers, and returns the rate from the first delivery to the last. */
async function rateOf(url: string, source: string): Promise<number> {
  const job: Job = { url, source, events, subjects };
  const writer = start({ ...job, task: 'store' });
  await once(writer, 'exit');
  const running = Array.from({ length: workers }, () => start({ ...job, task: 'deliver' }));
  const delivered: Delivered[] = [];
  const done = Promise.withResolvers<void>();
  for (const child of running) {
    child.on('message', (some) => {
      delivered.push(...(some as Delivered[]));
      if (delivered.length >= events) done.resolve();
    });
  }
  await done.promise;
  const exits = running.map((child) => once(child, 'exit'));
  for (const child of running) child.kill();
  await Promise.all(exits);
  checkOrder(source, delivered);
  const times = delivered.map(([, , time]) => time);
  return events / ((Math.max(...times) - Math.min(...times)) / 1000);
}

function start(job: Job): ChildProcess {
  return fork(fileURLToPath(new URL('worker.ts', import.meta.url)), [JSON.stringify(job)]);
}

/** Reports an event that was delivered twice, or before an earlier one of its subject. */
function checkOrder(source: string, delivered: readonly Delivered[]): void {
  const last = new Map<string, number>();
  for (const [subject, number] of delivered.toSorted((a, b) => a[2] - b[2] || a[1] - b[1])) {
    if (number <= (last.get(subject) ?? -1)) {
      console.log(`${source}, wrong order: ${subject}: ${number} after ${last.get(subject)}`);
      break;
    }
    last.set(subject, number);
  }
  if (delivered.length !== events) console.log(`${source}: ${delivered.length} deliveries of ${events} events`);
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!;
}

async function administrate(sql: string): Promise<void> {
  const client = new Client({ connectionString: server! });
  await client.connect();
  await client.query(sql);
  await client.end();
}
