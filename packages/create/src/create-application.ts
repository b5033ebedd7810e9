import { randomBytes } from 'node:crypto';
import { copyFileSync, globSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Choices } from './choices.ts';
import { makeManifest } from './manifest.ts';
import { Mistake } from './mistake.ts';
import { packageFolder } from './package-folder.ts';
import { fillIn, placeOf } from './template.ts';

/** The application's folder for tarballs of packages that are not in the registry. */
const TARBALLS = 'tarballs';

/**
 * Writes the files of an application into a new or empty folder.
 *
 * @returns the files, relative to the folder
 * @throws Mistake if the folder already has files, or its name is not a valid package name
 */
export function createApplication(choices: Choices): string[] {
  const folder = resolve(choices.folder);
  const name = basename(folder);
  if (!/^[a-z][a-z0-9-]*$/.test(name)) {
    throw new Mistake(`"${name}" cannot be the name of a package: use lower case letters, digits and hyphens`);
  }
  if (existsSync(folder) && readdirSync(folder).length > 0) throw new Mistake(`${folder} is not empty`);
  const tarballs = choices.packages === undefined ? new Map<string, string>() : findTarballs(choices.packages);
  const files = new Map([
    ...applicationFiles(choices, name),
    ['package.json', json(makeManifest(choices, name, (each) => inApplication(tarballs.get(each))))] as const,
    ...(choices.packageManager === 'pnpm' && tarballs.size > 0
      ? [['pnpm-workspace.yaml', pnpmSettings(tarballs)] as const]
      : []),
  ]);
  for (const [file, text] of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    // The secret is for the user alone. Windows knows no such mode.
    writeFileSync(join(folder, file), text, file === '.env' ? { mode: 0o600 } : {});
  }
  const manifest = files.get('package.json')!;
  for (const [each, tarball] of tarballs) {
    if (choices.packageManager !== 'pnpm' && !manifest.includes(`"${each}"`)) continue;
    mkdirSync(join(folder, TARBALLS), { recursive: true });
    copyFileSync(tarball, join(folder, inApplication(tarball)!));
  }
  return [...files.keys()].toSorted();
}

function applicationFiles(choices: Choices, name: string): (readonly [file: string, text: string])[] {
  const template = join(packageFolder, 'template');
  const all = globSync('**/*', { cwd: template, withFileTypes: true });
  const files = all.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const relative = files.map((file) => file.slice(template.length + 1).replaceAll('\\', '/'));
  const title = name.replaceAll(/(?:^|-)(\w)/g, (_all, letter: string) => ` ${letter.toUpperCase()}`).trim();
  const words = { name, title, secret: randomBytes(32).toString('base64') };
  return relative.flatMap((file) => {
    const place = placeOf(file, relative, choices);
    if (place === undefined) return [];
    const text = fillIn(readFileSync(join(template, file), 'utf8'), choices, words);
    return [[place, text.replaceAll('Library', title).replaceAll('library.sqlite', `${name}.sqlite`)] as const];
  });
}

/** Finds the tarballs in a folder, by package name. */
function findTarballs(folder: string): Map<string, string> {
  const found = globSync('viewset-*.tgz', { cwd: folder }).map((file) => {
    const [, name] = /^viewset-(.+?)-\d+\./.exec(file) ?? [];
    return [`@viewset/${name}`, resolve(folder, file)] as const;
  });
  if (found.length === 0) throw new Mistake(`${folder} has no tarballs of Viewset: make them by "pnpm pack-packages"`);
  return new Map(found);
}

function inApplication(tarball: string | undefined): string | undefined {
  return tarball === undefined ? undefined : `${TARBALLS}/${basename(tarball)}`;
}

/** Without these settings, pnpm resolves peers from the registry instead of the tarballs. */
function pnpmSettings(tarballs: ReadonlyMap<string, string>): string {
  const overrides = [...tarballs].map(([name, tarball]) => `  '${name}': file:${inApplication(tarball)}`);
  return ['overrides:', ...overrides, ''].join('\n');
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
