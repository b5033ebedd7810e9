/** Every relative link of the documentation leads somewhere. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { PACKAGES } from '../site/packages.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folders = ['.', 'docs', ...PACKAGES.map((name) => `packages/${name}`), 'examples/shop', 'examples/tracker'];

for (const folder of folders) {
  for (const name of readdirSync(join(root, folder)).filter((file) => file.endsWith('.md'))) {
    const document = join(folder, name);
    const text = readFileSync(join(root, document), 'utf8');
    const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '');
    const relative = targets.filter((target) => !/^(https?:|mailto:|#)/.test(target));
    const dead = relative.filter((target) => !existsSync(join(root, dirname(document), target.split('#', 1)[0] ?? '')));
    t.strictSame(dead, [], document);
  }
}
