import type { Manifest } from './packed-packages.ts';

const MIKRO_ORM = /^@mikro-orm\//;

/**
 * Compares packed manifests, and lists violations of a release's rules: all packages have one version, depend on each other by `^` of it,
 * on other packages by the same ranges, and on MikroORM by the version that the tests use.
 *
 * @param mikroOrm the version of MikroORM that the tests run with
 */
export function versionFaults(manifests: readonly Manifest[], mikroOrm: string): readonly string[] {
  const version = manifests[0]?.version;
  const ranges = new Map(manifests.map(({ name }) => [name, `^${version}`]));
  const faults: string[] = [];
  for (const manifest of manifests) {
    if (manifest.version !== version) faults.push(`${manifest.name} is ${manifest.version}, not ${version}`);
    for (const [name, range] of requirementsOf(manifest)) {
      const expected = MIKRO_ORM.test(name) ? `^${mikroOrm}` : (ranges.get(name) ?? range);
      if (range !== expected) faults.push(`${manifest.name} asks for ${name} ${range}, not ${expected}`);
      ranges.set(name, expected);
    }
  }
  return faults;
}

/**
 * The peers and dependencies that a manifest requires. `create-viewset` writes its development dependencies on the packages into
 * applications.
 */
function requirementsOf({ name, dependencies, devDependencies = {}, peerDependencies }: Manifest): [string, string][] {
  const written = Object.entries(devDependencies).filter(([each]) => each.startsWith('@viewset/'));
  return [...Object.entries({ ...dependencies, ...peerDependencies }), ...(name === 'create-viewset' ? written : [])];
}
