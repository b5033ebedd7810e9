import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Choices } from './choices.ts';
import { packageFolder } from './package-folder.ts';

/** The versions that the template was written for, which are the ones this package is tested with. */
function versions(): Readonly<Record<string, string>> {
  const { devDependencies } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as {
    devDependencies: Record<string, string>;
  };
  return devDependencies;
}

/** The driver packages of each database. */
const DRIVERS = {
  sqlite: ['@mikro-orm/sqlite'],
  postgresql: ['@mikro-orm/postgresql'],
  mongodb: ['@mikro-orm/mongodb', '@viewset/mongodb'],
} as const;

/**
 * Makes the package.json of an application.
 *
 * @param tarballOf returns a package's tarball, relative to the application; undefined: install it from the registry
 */
export function makeManifest(
  { database, parts }: Choices,
  name: string,
  tarballOf: (packageName: string) => string | undefined,
): object {
  const known = versions();
  const pick = (...names: readonly string[]): Readonly<Record<string, string>> =>
    Object.fromEntries(
      names.toSorted().map((each) => {
        const tarball = tarballOf(each);
        return [each, tarball === undefined ? known[each]! : `file:${tarball}`];
      }),
    );
  const hasTests = parts.includes('tests');
  return {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    engines: { node: '>=22.18.0' },
    scripts: {
      dev: 'node --watch --env-file-if-exists=.env --import @viewset/cli/dev server.ts',
      start: 'node --env-file-if-exists=.env server.ts',
      ...(hasTests ? { test: 'node --env-file-if-exists=.env --test' } : {}),
      typecheck: 'tsc',
      lint: 'oxlint',
    },
    dependencies: pick(
      '@mikro-orm/core',
      '@viewset/core',
      '@viewset/openapi',
      'fastify',
      'typebox',
      ...DRIVERS[database],
      ...(parts.includes('accounts') ? ['@viewset/auth'] : []),
      ...(parts.includes('explorer') ? ['@viewset/explorer'] : []),
    ),
    devDependencies: pick(
      '@types/node',
      '@viewset/cli',
      'oxlint',
      'oxlint-tsgolint',
      'typescript',
      ...(hasTests ? ['@viewset/client', '@viewset/testing'] : []),
    ),
  };
}
