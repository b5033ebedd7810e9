/**
 * `node scripts/set-repository.ts owner/name`: sets the repository on GitHub in every manifest, README and template. Before the first
 * release, and if the repository moves. A release fails until it has run.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { REPOSITORY } from './repository.ts';

const [target = ''] = process.argv.slice(2);
if (!/^[A-Za-z\d][A-Za-z\d-]*\/[\w.-]+$/.test(target)) {
  throw new Error(`Name the repository as owner/name, but ${JSON.stringify(target)} was received`);
}
const cwd = fileURLToPath(new URL('..', import.meta.url));
const current = new URL(REPOSITORY).pathname.slice(1);
const [owner = '', newOwner = ''] = [current, target].map((each) => each.split('/', 1)[0]);
const files = execFileSync('git', ['grep', '-lzF', `${owner}/`], { cwd, encoding: 'utf8' })
  .split('\0')
  .filter(Boolean);
for (const file of files) {
  if (file === 'scripts/repository.ts') continue;
  const path = `${cwd}${file}`;
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, text.replaceAll(current, target).replaceAll(`@${owner}/`, `@${newOwner}/`));
}
console.log(`Set ${target} in ${files.length} files`);
