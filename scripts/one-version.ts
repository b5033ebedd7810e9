import type { Manifest } from './packed-packages.ts';

const MIKRO_ORM = /^@mikro-orm\//;

/**
 * Compares packed manifests, and lists what breaks the promises of a release: the packages have one version, ask for each other by `^` of
 * it, ask for other packages by the same ranges, and for MikroORM by the version that they are tested with.
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

/** What a manifest asks for of its users. `create-viewset` writes its development dependencies on the packages into applications. */
function requirementsOf({ name, dependencies, devDependencies = {}, peerDependencies }: Manifest): [string, string][] {
  const written = Object.entries(devDependencies).filter(([each]) => each.startsWith('@viewset/'));
  return [...Object.entries({ ...dependencies, ...peerDependencies }), ...(name === 'create-viewset' ? written : [])];
}
