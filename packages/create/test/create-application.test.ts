import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { type Choices, PART_NAMES, withDefaults } from '../src/choices.ts';
import { readCommandLine } from '../src/command-line.ts';
import { createApplication } from '../src/create-application.ts';

const workspace = mkdtempSync(join(tmpdir(), 'viewset-create-'));
t.teardown(() => rmSync(workspace, { recursive: true, force: true }));
const program = fileURLToPath(new URL('../src/bin.ts', import.meta.url));

function make(name: string, choices: Partial<Choices>): { files: string[]; read: (file: string) => string } {
  const folder = join(workspace, name);
  const files = createApplication({ ...withDefaults({ chosen: {} }), ...choices, folder });
  return { files, read: (file) => readFileSync(join(folder, file), 'utf8') };
}

t.test('an application with every part', async (t) => {
  const { files, read } = make('every-part', {});
  t.strictSame(files, [
    '.dockerignore',
    '.env',
    '.github/workflows/test.yml',
    '.gitignore',
    '.oxlintrc.json',
    'Dockerfile',
    'README.md',
    'accounts.ts',
    'app.ts',
    'books.test.ts',
    'books.ts',
    'database.ts',
    'entities.ts',
    'package.json',
    'server.ts',
    'tsconfig.json',
  ]);
  t.match(read('app.ts'), "title: 'Every Part'");
  t.match(read('database.ts'), "'every-part.sqlite'");
  const { mode } = statSync(join(workspace, 'every-part/.env'));
  if (process.platform !== 'win32') t.equal(mode & 0o777, 0o600, 'only the user can read the secret');
  t.match(read('.env'), /^SECRET_KEY=[\w+/]{43}=$/m);
  t.notSame(read('.env'), make('another', {}).read('.env'), 'each application has a secret of its own');
  const marks = /^\s*(\/\/|#|<!--) (if|end)\b|__[a-z]+__/m;
  for (const file of files) t.notMatch(read(file), marks, `${file} has no mark of the template`);
});

t.test('an application without any part has no name of one', async (t) => {
  const { files, read } = make('no-part', { parts: [], database: 'postgresql' });
  t.strictSame(files, [
    '.env',
    '.gitignore',
    '.oxlintrc.json',
    'README.md',
    'app.ts',
    'books.ts',
    'compose.yaml',
    'database.ts',
    'entities.ts',
    'package.json',
    'server.ts',
    'tsconfig.json',
  ]);
  for (const file of files) t.notMatch(read(file), /account|explorer|sqlite3?'|dockerfile|testing/i, file);
  t.match(read('package.json'), '"@mikro-orm/postgresql"');
  t.match(read('compose.yaml'), 'POSTGRES_DB: no-part');
});

t.test('what it makes is closed until a view says otherwise', async (t) => {
  const { read } = make('closed', {});
  t.match(read('app.ts'), 'permissionClasses: [IsAuthenticated],');
  t.notMatch(read('app.ts'), 'nonAuthEndpoints');
  for (const path of ['login', 'register', 'send-verification-email']) {
    t.match(read('app.ts'), `new PathRateLimit(10, 60, { path: 'POST /api/auth/${path}' })`);
  }
  t.match(
    read('books.ts'),
    /allowAnonymous: true,\n {2}permissionClasses: \[IsSafeMethodOnly\.or\(IsAuthenticated\)\]/,
  );
  t.notMatch(
    make('open', { parts: [] }).read('books.ts'),
    /allowAnonymous|Is[A-Z]/,
    'without accounts nobody can log in',
  );
});

t.test('every package manager uses its install command', async (t) => {
  t.match(make('by-npm', {}).read('Dockerfile'), 'npm ci --omit=dev');
  const pnpm = make('by-pnpm', { packageManager: 'pnpm' });
  t.match(pnpm.read('Dockerfile'), 'pnpm install --frozen-lockfile --prod');
  t.notOk(pnpm.files.includes('pnpm-workspace.yaml'), 'no dependency has a script that pnpm must be allowed to run');
  t.match(make('by-bun', { packageManager: 'bun' }).read('.github/workflows/test.yml'), 'bun install');
});

t.test('packages come from tarballs, if a folder has them', async (t) => {
  const tarballs = mkdtempSync(join(workspace, 'tarballs-'));
  t.throws(() => make('of-none', { packages: tarballs }), { message: /has no tarballs of Viewset/ });
  for (const name of ['core', 'openapi', 'explorer', 'auth', 'client', 'testing', 'mongodb']) {
    writeFileSync(join(tarballs, `viewset-${name}-0.1.0.tgz`), name);
  }
  const npm = make('of-tarballs', { packages: tarballs });
  t.match(npm.read('package.json'), '"@viewset/core": "file:tarballs/viewset-core-0.1.0.tgz"');
  t.equal(npm.read('tarballs/viewset-core-0.1.0.tgz'), 'core');
  t.notOk(existsSync(join(workspace, 'of-tarballs/tarballs/viewset-mongodb-0.1.0.tgz')), 'only those that it needs');
  const pnpm = make('of-tarballs-by-pnpm', { packages: tarballs, packageManager: 'pnpm' });
  t.match(pnpm.read('pnpm-workspace.yaml'), "'@viewset/core': file:tarballs/viewset-core-0.1.0.tgz");
});

t.test('mistakes are reported, and nothing is overwritten', async (t) => {
  make('taken', {});
  t.throws(() => make('taken', {}), { message: /taken is not empty/ });
  t.throws(() => make('No Name', {}), { message: /"No Name" cannot be the name of a package/ });
  t.notOk(existsSync(join(workspace, 'No Name')));
  for (const [args, message] of [
    [['--database', 'mysql'], '--database must be one of sqlite, postgresql, mongodb, but got mysql'],
    [['--datebase', 'sqlite'], "Unknown option '--datebase'"],
    [['one', 'two'], 'Only one folder can be made, not one, two'],
    [['--package-manager', 'yarn'], '--package-manager must be one of npm, pnpm, bun, but got yarn'],
  ] as const) {
    const { status, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' });
    t.equal(status, 1);
    t.match(stderr, message);
    t.notMatch(stderr, /\n\s+at /, 'no stack');
  }
});

t.test('options replace the prompts', async (t) => {
  const { given } = readCommandLine(['shelf', '--no-explorer', '--database', 'mongodb'], 'pnpm/12.0.0 npm/? node/v24');
  t.match(withDefaults(given), {
    folder: 'shelf',
    database: 'mongodb',
    packageManager: 'pnpm',
    parts: PART_NAMES.filter((part) => part !== 'explorer'),
  });
  t.match(execFileSync(process.execPath, [program, '--help'], { encoding: 'utf8' }), /--no-accounts/);
  const silent = execFileSync(process.execPath, [program, 'silent', '--no-install'], {
    cwd: workspace,
    encoding: 'utf8',
    // Whatever runs the tests.
    env: { ...process.env, npm_config_user_agent: 'npm/11.0.0 node/v24' },
  });
  t.match(silent, /Wrote 16 files into silent/, 'without a terminal nothing is asked');
});
