/**
 * Runs the tests of the packages with the newest MikroORM whose packages fit each other, in a copy beside the workspace:
 * the peers are a range, and the lockfile has its lowest version. On SQLite alone if no driver of PostgreSQL fits.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** As of 2026-11, `@mikro-orm/postgresql` 7.2.5 asks for a `@mikro-orm/sql` that is not published, and 7.2.2 to 7.2.4 lack. */
const NEWEST = '7.2.2';
const FITTING = ['core', 'sqlite', 'mongodb'];

const root = fileURLToPath(new URL('..', import.meta.url));
const copy = mkdtempSync(join(tmpdir(), 'viewset-newest-'));
process.on('exit', () => rmSync(copy, { recursive: true, force: true }));

for (const path of globSync('{packages/*,package.json,tsconfig.base.json,.taprc,scripts,docs/*.md}', { cwd: root })) {
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
  JSON.stringify({ packages: ['packages/*'], allowBuilds: { bcrypt: false, esbuild: false } }),
);

run('pnpm', ['install', '--prefer-offline', '--ignore-scripts']);
// The explorer knows MikroORM by its tests alone, which are of the tracker.
run('pnpm', ['--recursive', '--no-bail', '--filter', '!@viewset/explorer', 'exec', 'tsc']);
run(process.execPath, [
  'scripts/test.ts',
  ...globSync('packages/core/test/{backends,http,mikro,permissions,query,shapes,viewset}/*.test.ts', { cwd: copy }),
]);

/** Runs a command in the copy, without the servers whose drivers do not fit; shows its output if it fails. */
function run(command: string, args: readonly string[]): void {
  const {
    CI: _ci,
    TEST_POSTGRES_URL: _postgres,
    TEST_PGBOUNCER_URL: _pgBouncer,
    TEST_MONGODB_URL: _mongo,
    ...env
  } = process.env;
  const { status, stdout } = spawnSync(command, args, { cwd: copy, env, encoding: 'utf8', maxBuffer: 2 ** 28 });
  console.log(`MikroORM ${NEWEST}: ${command === 'pnpm' ? args.join(' ') : stdout.trimEnd().split('\n').at(-1)}`);
  if (status === 0) return;
  console.log(stdout);
  process.exit(1);
}
