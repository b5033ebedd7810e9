import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';

const RUNNER = fileURLToPath(new URL('../test.ts', import.meta.url));
const PASSES = `
  import t from 'tap';
  t.test('a test', async (t) => t.ok(true));
  t.test('another', { skip: 'no server' }, () => {});`;
const FILES: Readonly<Record<string, string>> = {
  'passes.test.ts': PASSES,
  'passes-again.test.ts': PASSES,
  'fails.test.ts': `
    import t from 'tap';
    t.test('a test', async (t) => { t.ok(true); t.equal(1, 2, 'one is two'); });`,
  'has-no-test.test.ts': `import 'tap';`,
  'throws.test.ts': `import 'tap'; throw new Error('thrown by the module');`,
  'throws-later.test.ts': `
    import t from 'tap';
    t.test('a test', async (t) => { t.ok(true); await new Promise(() => setImmediate(() => { throw new Error('thrown later'); })); });`,
  'leaks-a-rejection.test.ts': `
    import t from 'tap';
    t.test('a test', async (t) => { void Promise.reject(new Error('nobody waits for it')); t.ok(true); });`,
  'never-settles.test.ts': `import t from 'tap'; t.ok(true); await new Promise(() => {});`,
  'waits-for-nothing.test.ts': `
    import t from 'tap';
    t.test('a test', async (t) => { t.ok(true); await new Promise(() => {}); });`,
  'hangs.test.ts': `
    import t from 'tap';
    t.test('a test', async (t) => { t.ok(true); await new Promise((resolve) => setTimeout(resolve, 600_000)); });`,
  'blocks.test.ts': `
    import t from 'tap';
    t.test('a test', async (t) => { t.ok(true, 'before it blocks'); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); });`,
  'stays-open.test.ts': `
    import { createServer } from 'node:http';
    import t from 'tap';
    t.test('a test', async (t) => { t.ok(true); createServer().listen(0); });`,
  'is-killed.test.ts': `
    import t from 'tap';
    t.test('a test', async (t) => { t.ok(true); process.kill(process.pid, 'SIGTERM'); await new Promise((resolve) => setTimeout(resolve, 600_000)); });`,
  'exits.test.ts': `
    import t from 'tap';
    t.test('a test', async (t) => { t.ok(true); process.exit(0); });`,
};
/** Files that are right alone, and that the next file in their process would notice. */
const LEAVES: Readonly<Record<string, readonly [code: string, changes: string]>> = {
  'sets-a-variable': [`process.env['LEFT_BEHIND'] = 'here';`, 'process.env.LEFT_BEHIND'],
  'replaces-globals': ['globalThis.setInterval = () => 0; Date.now = () => 0;', 'globalThis.setInterval, Date.now'],
  'changes-the-process': [
    `process.chdir('/'); process.on('SIGUSR2', () => {});`,
    'the working directory, the listeners of process on SIGUSR2',
  ],
};

interface Run {
  readonly status: number | null;
  readonly output: string;
  /** For each file `ok` or `not ok`, with the reason. */
  readonly results: Readonly<Record<string, string>>;
  readonly counts: string;
}

/** Runs files with these texts. */
async function run(t: Test, files: Readonly<Record<string, string>>, ...options: string[]): Promise<Run> {
  const folder = t.testdir({ ...files });
  const env = { ...process.env, CI: '', NODE_V8_COVERAGE: undefined };
  const names = Object.keys(files)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `${folder}/${name}`);
  const child = spawn(process.execPath, [RUNNER, '--jobs=1', ...options, ...names], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  const lines = output.matchAll(/^\d+\/\d+ (ok|not ok) \S*\/(\S+)\.test\.ts [\d.]+ s(.*)$/gm);
  return {
    status: child.exitCode,
    output,
    results: Object.fromEntries([...lines].map(([, result, name, reason]) => [name, `${result}${reason}`])),
    counts: output.trimEnd().split('\n').at(-1) ?? '',
  };
}

t.test('in a shared process a file that fails is named, and no other fails by it', async (t) => {
  const { status, output, results, counts } = await run(t, FILES, '--jobs=4', '--idle=5');
  const { passes, 'passes-again': passesAgain, ...others } = results;
  t.equal(status, 1);
  t.same([passes, passesAgain], ['ok', 'ok']);
  t.equal(Object.keys(others).length, Object.keys(FILES).length - 2);
  for (const [name, result] of Object.entries(others)) t.match(result, /^not ok, ./, name);
  t.equal(results['is-killed'], 'not ok, ended with SIGTERM');
  for (const name of ['hangs', 'blocks', 'stays-open']) {
    t.equal(results[name], 'not ok, waited for 5 s without using the processor', name);
  }
  t.equal(results['exits'], 'not ok, ended with 0');
  for (const said of [
    '✗ a test › one is two',
    'fails.test.ts:3',
    '-2',
    '+1',
    'thrown by the module',
    'thrown later',
    'nobody waits for it',
    'a top-level await that never settles',
    'ok 1 - before it blocks',
    'timeout!',
    'still open: TCPServerWrap',
    'SKIPPED 2 × no server',
  ]) {
    t.ok(output.includes(said), said);
  }
  t.match(counts, /^\d+ passed, \d+ failed, 2 skipped$/);
});

t.test('a file that fails in a separate process is named, and no other fails because of it', async (t) => {
  const names = ['passes', 'fails', 'leaks-a-rejection', 'is-killed', 'exits'];
  const files = Object.fromEntries(names.map((name) => [`${name}.test.ts`, FILES[`${name}.test.ts`]!]));
  const { status, output, results, counts } = await run(t, files, '--own-processes');
  t.equal(status, 1);
  t.same(results, {
    passes: 'ok',
    fails: 'not ok, ended with 1',
    'leaks-a-rejection': 'not ok, ended with 1',
    'is-killed': 'not ok, ended with SIGTERM',
    exits: 'not ok, ended with 1',
  });
  t.ok(output.includes('✗ a test › one is two'));
  t.match(counts, /^\d+ passed, \d+ failed, 1 skipped$/);
});

t.test('a file that changes its process fails, unless it requests a separate process', async (t) => {
  const files = Object.entries(LEAVES).map(([name, [code]]) => [`${name}.test.ts`, `${code}\n${PASSES}`] as const);
  const own = Object.values(LEAVES).map(([code]) => code);
  const { status, results, counts } = await run(t, {
    ...Object.fromEntries(files),
    'own.test.ts': ['// Needs a process of its own: it changes it.', ...own, PASSES].join('\n'),
    'passes.test.ts': PASSES,
  });
  t.equal(status, 1);
  for (const [name, [, changes]] of Object.entries(LEAVES)) {
    t.equal(results[name], `not ok, leaves to the next file: ${changes}`);
  }
  t.same([results['own'], results['passes']], ['ok', 'ok']);
  t.equal(counts, '5 passed, 3 failed, 5 skipped');
});

t.test('a module that two files of a process share has the `t` of the one that runs', async (t) => {
  const code = `import { passes } from './shared.ts'; passes();`;
  const { results, counts } = await run(t, {
    'shared.ts': `import t from 'tap'; export const passes = () => t.test('shared', async (t) => t.ok(true));`,
    'one.test.ts': code,
    'two.test.ts': code,
  });
  t.same(results, { one: 'ok', two: 'ok' });
  t.equal(counts, '2 passed, 0 failed');
});

t.test('failures are listed at the end, and the output of a file only with --verbose', async (t) => {
  const files = { 'fails.test.ts': FILES['fails.test.ts']!, 'passes.test.ts': PASSES };
  const { output } = await run(t, files);
  t.ok(output.indexOf('2/2 ok') < output.indexOf('✗ a test › one is two'), 'after the last file');
  t.notOk(output.includes('TAP version'));
  t.ok((await run(t, files, '--verbose')).output.includes('TAP version'));
});

t.test('a sample is a part of the files, and --only runs the marked tests', async (t) => {
  const names = ['a', 'b', 'c', 'd', 'e'].map((name) => [`${name}.test.ts`, PASSES] as const);
  const { results } = await run(t, Object.fromEntries(names), '--shuffle=1', '--sample=2');
  t.equal(Object.keys(results).length, 3);
  const marked = `
    import t from 'tap';
    t.test('not marked', async (t) => t.fail());
    t.only('marked', async (t) => t.ok(true));`;
  t.match((await run(t, { 'marked.test.ts': marked }, '--only')).counts, /^1 passed, 0 failed/);
});

t.test('a path without a file is one sentence', async (t) => {
  const child = spawn(process.execPath, [RUNNER, 'packages/nowhere.test.ts'], { stdio: ['ignore', 'ignore', 'pipe'] });
  const [errors] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  t.equal(child.exitCode, 1);
  t.match(errors, /^No test file has the path packages\/nowhere\.test\.ts\. .*\n$/);
});

t.test('a folder is all of its test files', async (t) => {
  const child = spawn(process.execPath, [RUNNER, 'packages/core/test/permissions', '--without-servers', '--sample=2'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  t.equal(child.exitCode, 0);
  t.match(output, /^1\/\d+ ok packages\/core\/test\/permissions\//m);
});
