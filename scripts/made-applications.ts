import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { npmProgram } from './foreign-programs.ts';
import { type Manifest, readManifest } from './packed-packages.ts';

const BUN = 'bun@1.4.5';

/** The kinds of applications, each with the variable that names the server of its tests. */
const KINDS = (
  [
    ['sqlite', undefined],
    ['postgresql', 'TEST_POSTGRES_URL'],
    ['mongodb', 'TEST_MONGODB_URL'],
  ] as const
).flatMap(([database, server]) =>
  ['accounts', 'no-accounts'].map((accounts) => ({
    name: `${database}-${accounts}`,
    options: ['--database', database, `--${accounts}`],
    server,
  })),
);

/**
 * Makes applications by the packed `create-viewset`, outside of the repository and without `@viewset` in the registry. Their types have to
 * check and their tests to pass: one of each kind, which share one installation, and one installed by each package manager, with two more
 * resources.
 */
export function checkMadeApplications(workspace: string, tarballs: ReadonlyMap<string, string>): void {
  const folder = join(workspace, 'made');
  const maker = installMaker(join(workspace, 'maker'), tarballs.get('create-viewset')!);
  const make = (place: string, options: readonly string[]): string => {
    const application = join(folder, place);
    run(workspace, process.execPath, [maker, application, '--yes', '--packages', workspace, ...options]);
    return application;
  };

  for (const packageManager of ['npm', 'pnpm', 'bun']) {
    const program = programOf(packageManager);
    const application = make(`by-${packageManager}`, ['--no-install', '--package-manager', packageManager]);
    run(application, program, ['install']);
    const viewset = join(application, 'node_modules/.bin/viewset');
    run(application, viewset, ['add', 'resource', 'Author', 'name:string:unique']);
    run(application, viewset, [
      'add',
      'resource',
      'Review',
      'title:string',
      'stars:integer?',
      'author:ref',
      'book:ref',
    ]);
    run(application, viewset, ['routes']);
    run(application, program, ['run', 'typecheck']);
    run(application, program, ['run', 'lint']);
    run(application, program, ['run', 'test']);
  }

  const kinds = KINDS.map(({ name, options, server }) => ({
    application: make(`kinds/${name}`, ['--no-install', ...options]),
    server,
  }));
  installTogether(
    join(folder, 'kinds'),
    kinds.map(({ application }) => application),
    tarballs,
  );
  for (const { application, server } of kinds) {
    run(application, 'npm', ['run', 'typecheck']);
    if (server === undefined || process.env[server] !== undefined) {
      run(application, 'npm', ['test']);
    } else if (process.env['CI'] === undefined) {
      console.log(`SKIPPED the tests of ${basename(application)}: ${server} is not set`);
    } else {
      throw new Error(`${server} is not set, which the tests of ${basename(application)} need`);
    }
  }
}

/** Installs `create-viewset`, and returns its program. */
function installMaker(folder: string, tarball: string): string {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true }));
  run(folder, 'npm', ['install', '--no-audit', '--no-fund', tarball]);
  return join(folder, 'node_modules/.bin/create-viewset');
}

function programOf(packageManager: string): string {
  if (packageManager !== 'bun') return packageManager;
  const bun = npmProgram(BUN, 'bun', { setUp: 'bun/install.js' });
  if (bun === undefined) throw new Error('bun cannot be installed');
  return bun;
}

/** Installs the dependencies of several applications into the folder above them, where Node finds them too. */
function installTogether(folder: string, applications: readonly string[], tarballs: ReadonlyMap<string, string>): void {
  const manifests = applications.map((application): Manifest => readManifest(application));
  const needed = Object.assign({}, ...manifests.flatMap((each) => [each.dependencies, each.devDependencies])) as object;
  const dependencies = Object.fromEntries(
    Object.entries(needed).map(([name, version]) => [
      name,
      tarballs.has(name) ? `file:${tarballs.get(name)}` : version,
    ]),
  );
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
  run(folder, 'npm', ['install', '--no-audit', '--no-fund']);
}

/** Runs a program; prints its output if it fails. The Node of this process comes first on the PATH. */
function run(cwd: string, program: string, args: readonly string[]): void {
  const startedAt = Date.now();
  const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd,
    env: { ...process.env, PATH },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const command = [program, ...args].map((word) => (word.startsWith('/') ? basename(word) : word)).join(' ');
  console.log(`${basename(cwd)}$ ${command}    # ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  if (status === 0) return;
  console.log(stdout, stderr);
  throw new Error(`${command} failed in ${cwd}`);
}
