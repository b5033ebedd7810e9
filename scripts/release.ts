/**
 * `node scripts/release.ts v0.2.0 --dry-run`: checks that the repository is ready to be released under this tag, packs the packages, and
 * publishes the tarballs. `.github/workflows/release.yml` runs it without `--dry-run` and with `--provenance`. CONTRIBUTING.md has the steps.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packPackages, packageFolder, PUBLISHED, publishTarballs, readManifest } from './packed-packages.ts';
import { isPlaceholder, REPOSITORY } from './repository.ts';

const [tag = '', ...flags] = process.argv.slice(2);
/** `owner/name` on GitHub, if the workflow runs this. */
const repository = process.env['GITHUB_REPOSITORY'];
const unready = [...faultsOfRepository(), ...PUBLISHED.flatMap(faultsOf)];
if (unready.length > 0) throw new Error(unready.join('\n'));

const folder = mkdtempSync(join(tmpdir(), 'viewset-release-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const packed = [...packPackages(folder)];
// A release that broke off goes on.
const rest = packed.filter(([name]) => !isPublished(`${name}@${tag.slice(1)}`));
publishTarballs(
  rest.map(([, tarball]) => tarball),
  flags,
);

function isPublished(name: string): boolean {
  return spawnSync('pnpm', ['view', name, 'version'], { encoding: 'utf8' }).stdout.trim() !== '';
}

function faultsOfRepository(): string[] {
  if (isPlaceholder) return [`${REPOSITORY} is a placeholder: run node scripts/set-repository.ts owner/name`];
  // npm compares the two, and refuses the provenance of another repository. A test compares each manifest with the root's.
  if (repository === undefined || REPOSITORY.endsWith(`/${repository}`)) return [];
  return [`package.json names ${REPOSITORY}, and this is ${repository}`];
}

function faultsOf(each: (typeof PUBLISHED)[number]): string[] {
  const { name, version } = readManifest(packageFolder(each));
  const changes = readFileSync(join(packageFolder(each), 'CHANGELOG.md'), 'utf8');
  const faults: string[] = [];
  if (tag !== `v${version}`) faults.push(`${name} is ${version}, and the tag is ${tag === '' ? 'not given' : tag}`);
  if (!changes.includes(`\n## [${version}]`)) faults.push(`${name}: CHANGELOG.md has no section [${version}]`);
  return faults;
}
