import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The parts of a package.json that are looked at. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** The packages that are published, by their folders in `packages`; each after those that it is built with. */
export const PUBLISHED = [
  'core',
  'mongodb',
  'auth',
  'outbox',
  'live',
  'telemetry',
  'openapi',
  'explorer',
  'client',
  'full-text',
  'idempotency',
  'batch',
  'mcp',
  'history',
  'testing',
  'cli',
  'create',
] as const;

const packages = fileURLToPath(new URL('../packages/', import.meta.url));

/** Returns the folder of a published package. */
export function packageFolder(folder: (typeof PUBLISHED)[number]): string {
  return join(packages, folder);
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

/** Reads a file of a tarball. */
export function readPacked(tarball: string, file: string): string {
  return execFileSync('tar', ['-xzOf', tarball, `package/${file}`], { encoding: 'utf8' });
}

/** Builds the packages and packs them as they would be published; returns the tarballs by the names of the packages. */
export function packPackages(destination: string): Map<string, string> {
  const unlisted = readdirSync(packages).filter((folder) => !(PUBLISHED as readonly string[]).includes(folder));
  if (unlisted.length > 0) throw new Error(`PUBLISHED in scripts/packed-packages.ts lacks ${unlisted.join(', ')}`);
  mkdirSync(destination, { recursive: true });
  return new Map(
    PUBLISHED.map((each) => {
      const folder = packageFolder(each);
      const { name, version } = readManifest(folder);
      console.log(`$ pnpm pack    # ${name}`);
      execFileSync('pnpm', ['--silent', 'pack', '--pack-destination', resolve(destination)], {
        cwd: folder,
        stdio: ['ignore', 'inherit', 'inherit'],
      });
      return [name, join(destination, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`)];
    }),
  );
}

/** Publishes exactly these tarballs. */
export function publishTarballs(tarballs: Iterable<string>, flags: readonly string[]): void {
  for (const tarball of tarballs) {
    // A tarball is not the folder of a repository, which pnpm would look at otherwise.
    execFileSync('pnpm', ['publish', resolve(tarball), '--access', 'public', '--no-git-checks', ...flags], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
  }
}
