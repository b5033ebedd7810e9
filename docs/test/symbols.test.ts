/** Every public name of the packages is told of on a page of docs, in a span of code; the site links it to the reference. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { listPages } from '../site/pages.ts';
import { readReference } from '../site/reference.ts';
import { symbolsNamed } from '../site/symbol-links.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { symbols, options } = await readReference(root);

t.test('every public name is described on a page', async (t) => {
  const byName = new Map(symbols.map((symbol) => [symbol.name, symbol]));
  const pages = listPages(root).filter(({ source }) => source.startsWith('docs/'));
  const named = new Set(
    pages.flatMap(({ source }) => [...symbolsNamed(readFileSync(join(root, source), 'utf8'), byName)]),
  );
  t.ok(byName.size > 200, 'the packages can be read');
  t.strictSame(
    [...byName.keys()].filter((name) => !named.has(name)),
    [],
  );
});

t.test('every option is described on a page', async (t) => {
  const pages = listPages(root).filter(({ source }) => source.startsWith('docs/'));
  const spans = pages.flatMap(({ source }) => readFileSync(join(root, source), 'utf8').match(/`[^`\n]+`/g) ?? []);
  const told = new Set(spans.flatMap((span) => span.match(/\w+/g) ?? []));
  t.ok(options.length > 100, 'the options can be read');
  t.strictSame(
    options.filter(({ name }) => !told.has(name)).map(({ owner, name }) => `${owner}.${name}`),
    [],
  );
});
