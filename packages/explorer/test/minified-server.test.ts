/** No part of the library knows another by the name of its class, so a server may be bundled and minified. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build, type BuildOptions, type Plugin } from 'esbuild';
import t from 'tap';
import {
  createPostgreSqlDatabase,
  mongoDatabase,
  skipMongo,
  skipPostgreSql,
} from '../../core/test/support/databases.ts';

t.setTimeout(110_000);

const run = promisify(execFile);

/** The client of SQLite has a binary, which no bundle takes. */
const nativeClient: Plugin = {
  name: 'native client',
  setup(bundling) {
    bundling.onResolve({ filter: /^better-sqlite3$/ }, ({ path, importer }) => ({
      path: createRequire(importer).resolve(path),
      external: true,
    }));
  },
};

const folder = await mkdtemp(join(tmpdir(), 'minified-'));
t.teardown(() => rm(folder, { recursive: true }));
const options: BuildOptions = {
  entryPoints: [fileURLToPath(new URL('support/minified-server.ts', import.meta.url))],
  bundle: true,
  minify: true,
  platform: 'node',
  format: 'esm',
  banner: { js: "import { createRequire } from 'node:module';const require = createRequire(import.meta.url);" },
  external: ['pg-native', '@mikro-orm/entity-generator', '@mikro-orm/migrations', '@mikro-orm/seeder'],
  plugins: [nativeClient],
  logLevel: 'silent',
};
const outfile = join(folder, 'server.mjs');
const named = join(folder, 'named.mjs');
await build({ ...options, outfile });
await build({ ...options, outfile: named, keepNames: true });

const answersOf = async (server: string, url?: string): Promise<unknown> => {
  const { stdout } = await run(process.execPath, [server], { env: { ...process.env, MINIFIED_DATABASE_URL: url } });
  return JSON.parse(stdout);
};

const EXPECTED = [
  [201, { id: 1, text: 'one' }],
  [201, { id: 2, text: 'four' }],
  [200, { id: 1, text: 'two' }],
  [200, { results: [{ id: 1 }] }],
  [204],
  [404],
];

t.test('on SQLite', async (t) => {
  t.match(await answersOf(outfile), EXPECTED);
});

t.test('on PostgreSQL', { skip: skipPostgreSql() }, async (t) => {
  t.match(await answersOf(outfile, await createPostgreSqlDatabase(t)), EXPECTED);
});

t.test('on MongoDB', { skip: skipMongo() }, async (t) => {
  t.match(await answersOf(outfile, mongoDatabase()), EXPECTED);
});

t.test('with the names of classes kept, as the page on deployment has it', async (t) => {
  t.match(await answersOf(named), EXPECTED);
});
