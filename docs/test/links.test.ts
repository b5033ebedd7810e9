/** Every relative link of the documentation leads somewhere. `scripts/test/repository.test.ts` checks the absolute ones of packages. */
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

t.test('a page whose examples import entities.ts contains the file, or links to it', async (t) => {
  const docs = join(root, 'docs');
  const pages = readdirSync(docs).filter((file) => file.endsWith('.md') && file !== 'index.md');
  for (const page of pages) {
    const text = readFileSync(join(docs, page), 'utf8');
    if (!text.includes("'./entities.ts'")) continue;
    t.match(text, /^\/\/ entities\.ts$|views\.md#the-entities-of-the-examples/m, page);
  }
});
