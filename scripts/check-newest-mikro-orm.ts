/**
 * Runs the tests of the packages with the newest MikroORM whose packages fit each other, in a copy beside the workspace:
 * the peers are a range, and the lockfile has its lowest version. On SQLite all of them; on MongoDB those that come by what differs there,
 * if TEST_MONGODB_URL names one; on PostgreSQL none as long as no driver of it fits.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** As of 2026-11, `@mikro-orm/postgresql` 7.2.5 requires a `@mikro-orm/sql` that is not published, and 7.2.2 to 7.2.4 do not exist. */
const NEWEST = '7.2.2';
const FITTING = ['core', 'sqlite', 'libsql', 'mongodb'];

/** The driver of MongoDB, around whose methods the extension stands, and the compiler; reads, writes, references, conflicts and transactions. */
const ON_MONGO =
  'packages/{mongodb/test/{commands,filters,locks,mongo-extension,same-answers},core/test/{mikro/*,query/{matching,relations},' +
  'http/{writes,many,conflicts,json-columns,object-ids,transactions,sets-of-references}}}.test.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const copy = mkdtempSync(join(tmpdir(), 'viewset-newest-'));
process.on('exit', () => rmSync(copy, { recursive: true, force: true }));

for (const path of globSync('{packages/*,package.json,tsconfig.base.json,scripts,docs/*.md}', { cwd: root })) {
  cpSync(join(root, path), join(copy, path), {
    recursive: true,
    filter: (from) => !/\/(node_modules|dist)$/.test(from),
  });
}
for (const manifest of globSync('packages/*/package.json', { cwd: copy })) {
  const text = readFileSync(join(copy, manifest), 'utf8');
  const fitting = new RegExp(`("@mikro-orm/(?:${FITTING.join('|')})": )"[\\d.]+"`, 'g');
  writeFileSync(join(copy, manifest), text.replaceAll(fitting, `$1"${NEWEST}"`));
}
writeFileSync(
  join(copy, 'pnpm-workspace.yaml'),
  JSON.stringify({ packages: ['packages/*'], allowBuilds: { esbuild: false } }),
);

run('pnpm', ['install', '--prefer-offline', '--ignore-scripts']);
// The explorer knows MikroORM by its tests alone, which are of the tracker.
run('pnpm', ['--recursive', '--no-bail', '--filter', '!@viewset/explorer', 'exec', 'tsc']);
runTests('packages/core/test/{features,fields,mikro,permissions,query,shapes,view}/**/*.test.ts', {});
const mongo = process.env['TEST_MONGODB_URL'];
if (mongo === undefined) console.log('TEST_MONGODB_URL is not set: nothing was tried on MongoDB');
else runTests(ON_MONGO, { TEST_MONGODB_URL: mongo });

function runTests(pattern: string, servers: Readonly<Record<string, string>>): void {
  run(process.execPath, ['scripts/test.ts', ...globSync(pattern, { cwd: copy })], servers);
}

/** Runs a command in the copy, with no servers but the given ones; shows its output if it fails. */
function run(command: string, args: readonly string[], servers: Readonly<Record<string, string>> = {}): void {
  const {
    CI: _ci,
    TEST_POSTGRES_URL: _postgres,
    TEST_PGBOUNCER_URL: _pgBouncer,
    TEST_MONGODB_URL: _mongo,
    ...others
  } = process.env;
  const env = { ...others, ...servers };
  const { status, stdout } = spawnSync(command, args, { cwd: copy, env, encoding: 'utf8', maxBuffer: 2 ** 28 });
  console.log(`MikroORM ${NEWEST}: ${command === 'pnpm' ? args.join(' ') : stdout.trimEnd().split('\n').at(-1)}`);
  if (status === 0) return;
  console.log(stdout);
  process.exit(1);
}
