/**
 * Packs the packages as they would be published and uses the tarballs as a stranger would: compares their versions, reads their
 * bills of materials, has publint and attw read them, and publishes them without uploading. Installs them in a project outside the
 * workspace, type-checks a program against them with every declaration file checked (`skipLibCheck: false`), and runs it on Node,
 * on the lowest Node, and on Deno. Of that program the type of its API is written to a declaration file, by which a second
 * project, that has the client alone, is checked and run.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { bundlePage } from '../packages/explorer/page/bundle-page.ts';
import { findsProgram } from './foreign-programs.ts';
import { checkMadeApplications } from './made-applications.ts';
import { versionFaults } from './one-version.ts';
import {
  type Manifest,
  packPackages,
  packageFolder,
  publishTarballs,
  readManifest,
  readPacked,
} from './packed-packages.ts';

interface Component {
  readonly group?: string;
  readonly name: string;
  readonly externalReferences?: readonly { readonly hashes?: readonly unknown[] }[];
}

/** The parts of a CycloneDX document that are read. */
interface BillOfMaterials {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
}

/** Written by `pnpm sbom` when a package is packed. */
const BILL_OF_MATERIALS = 'dist/sbom.cdx.json';
/** The compilers before the rewrite, which many editors still use. */
const OLDER_COMPILERS = new Map([
  ['typescript-6', 'npm:typescript@6.0.3'],
  ['typescript-5.9', 'npm:typescript@5.9.3'],
]);
/** What an application installs of core. It was 1,896 files and 5.9 MiB with sources and source maps. */
const MAX_CORE_FILES = 829;
const MAX_CORE_BYTES = 3 * 2 ** 20;
/** The lowest version that the packages promise to run on. */
const LOWEST_NODE = 'node@22.18.0';
const root = fileURLToPath(new URL('..', import.meta.url));
const bin = (name: string): string => join(root, 'node_modules/.bin', name);
const workspace = mkdtempSync(join(tmpdir(), 'viewset-packages-'));
process.on('exit', () => rmSync(workspace, { recursive: true, force: true }));

const tarballs = packPackages(workspace);
checkVersions();
for (const [name, tarball] of tarballs) await checkTarball(name, tarball);
publishTarballs(tarballs.values(), ['--dry-run']);
const consumer = createConsumer(
  'consumer',
  [...tarballs.keys()].filter((name) => name !== 'create-viewset'),
  ['@mikro-orm/core', '@mikro-orm/mongodb', '@mikro-orm/sqlite', '@types/node', 'fastify', 'typebox'],
);
// pnpm fails if a package has a script that nobody allowed: users must not need a setting.
run(consumer, 'pnpm', ['install', '--prefer-offline']);
run(consumer, process.execPath, ['node_modules/typescript/bin/tsc']);
// The declarations of the libraries were checked above.
for (const compiler of OLDER_COMPILERS.keys()) {
  run(consumer, process.execPath, [`node_modules/${compiler}/bin/tsc`, '--skipLibCheck']);
}
run(consumer, process.execPath, ['program.ts']);
run(consumer, 'npx', ['--yes', '--package', LOWEST_NODE, 'node', 'program.ts']);
runOnDeno(consumer);

const client = createConsumer('client-consumer', ['@viewset/client'], []);
run(consumer, process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.api.json']);
cpSync(join(consumer, 'types/api.d.ts'), join(client, 'api.d.ts'));
run(client, 'pnpm', ['install', '--prefer-offline']);
run(client, process.execPath, ['node_modules/typescript/bin/tsc']);
for (const compiler of OLDER_COMPILERS.keys()) {
  run(client, process.execPath, [`node_modules/${compiler}/bin/tsc`]);
}
run(client, process.execPath, ['program.ts']);

checkMadeApplications(workspace, tarballs);

function checkVersions(): void {
  const manifests = [...tarballs.values()].map(
    (tarball) => JSON.parse(readPacked(tarball, 'package.json')) as Manifest,
  );
  const tested = readManifest(packageFolder('core')).devDependencies?.['@mikro-orm/core'] ?? '';
  const faults = versionFaults(manifests, tested);
  if (faults.length > 0) throw new Error(faults.join('\n'));
}

async function checkTarball(name: string, tarball: string): Promise<void> {
  const files = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' }).split('\n');
  for (const needed of [
    'LICENSE',
    'README.md',
    'CHANGELOG.md',
    BILL_OF_MATERIALS,
    ...(name === 'create-viewset' ? ['dist/bin.js', 'template/app.ts'] : ['dist/index.js', 'dist/index.d.ts']),
    ...(name === '@viewset/explorer' ? ['dist/page/explorer.js', 'dist/page/qr.js', 'dist/page/explorer.css'] : []),
  ]) {
    if (!files.includes(`package/${needed}`)) throw new Error(`${name}: the tarball lacks ${needed}`);
  }
  const stray = files.find((file) => /\/(test|node_modules|src)\/|\.(?:tsbuildinfo|map)$/.test(file));
  if (stray !== undefined) throw new Error(`${name}: the tarball has ${stray}`);
  if (name === '@viewset/core') checkSize(tarball, files.filter((file) => !/^$|\/$/.test(file)).length);
  await checkBillOfMaterials(name, tarball);
  run(root, bin('publint'), [tarball, '--strict']);
  // A program alone has no types.
  if (name !== 'create-viewset') run(root, bin('attw'), ['--profile', 'esm-only', tarball]);
}

function checkSize(tarball: string, count: number): void {
  const bytes = gunzipSync(readFileSync(tarball)).length;
  console.log(`@viewset/core: ${count} files, ${(bytes / 2 ** 20).toFixed(1)} MiB unpacked`);
  if (count > MAX_CORE_FILES) throw new Error(`@viewset/core has ${count} files, more than ${MAX_CORE_FILES}`);
  if (bytes > MAX_CORE_BYTES) throw new Error(`@viewset/core has ${bytes} bytes, more than ${MAX_CORE_BYTES}`);
}

/** The bill has the package itself, and what it depends on or contains, with the checksums that the lockfile pins. */
async function checkBillOfMaterials(name: string, tarball: string): Promise<void> {
  const { metadata, components } = JSON.parse(readPacked(tarball, BILL_OF_MATERIALS)) as BillOfMaterials;
  const { dependencies = {} } = readManifest(join(root, 'packages', basename(name).replace(/-viewset$/, '')));
  const listed = new Set(components.map((component) => nameOf(component)));
  const { bundled } = name === '@viewset/explorer' ? await bundlePage({ minify: true }) : { bundled: [] };
  const missing = [...Object.keys(dependencies), ...bundled].filter((dependency) => !listed.has(dependency));
  if (nameOf(metadata.component) !== name || missing.length > 0) {
    throw new Error(`${name}: the bill of materials is of ${nameOf(metadata.component)} and lacks ${missing.join()}`);
  }
  const unpinned = components.filter(({ externalReferences = [] }) => !externalReferences.some(({ hashes }) => hashes));
  if (unpinned.length > 0) throw new Error(`${name}: no checksum of ${unpinned.map(nameOf).join()}`);
}

function nameOf({ group, name }: Component): string {
  return group === undefined ? name : `${group}/${name}`;
}

/** Makes a project with some of the tarballs, with others of the versions that are tested here, and with three compilers. */
function createConsumer(name: string, packed: readonly string[], others: readonly string[]): string {
  const folder = join(workspace, name);
  cpSync(join(root, 'scripts', name), folder, { recursive: true });
  const tested = {
    ...readManifest(root).devDependencies,
    ...readManifest(join(root, 'packages/core')).devDependencies,
  };
  const local = Object.fromEntries(packed.map((packageName) => [packageName, `file:${tarballs.get(packageName)}`]));
  const dependencies = {
    ...local,
    ...Object.fromEntries([...others, 'typescript'].map((other) => [other, tested[other]])),
    ...Object.fromEntries(OLDER_COMPILERS),
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }));
  // core is a peer of auth, in a version that only the tarball has.
  writeFileSync(join(folder, 'pnpm-workspace.yaml'), JSON.stringify({ overrides: local }));
  return folder;
}

/** Deno is too large for everybody who tries the check to download: `.ci/run` brings it, and under CI its lack is a failure. */
function runOnDeno(cwd: string): void {
  if (process.env['CI'] === undefined && !findsProgram('deno', '--version')) {
    console.log('SKIPPED the program on Deno: it is not installed (npx -p deno@2)');
  } else {
    run(cwd, 'deno', ['run', '--no-prompt', '--allow-all', 'program.ts']);
  }
}

function run(cwd: string, command: string, args: readonly string[]): void {
  console.log(`$ ${[basename(command), ...args].join(' ').replaceAll(workspace, '…')}`);
  execFileSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
}
