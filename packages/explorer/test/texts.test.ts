import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ImproperlyConfigured } from '@viewset/core';
import { parseSync } from 'oxc-parser';
import t from 'tap';
import { openSqlite } from '../../core/test/support/databases.ts';
import { openBrowser, openPage, skipWithoutBrowser } from './support/browser.ts';
import { ENTITIES, startLibrary } from './support/library.ts';

const folder = fileURLToPath(new URL('../page/', import.meta.url));

/** The attributes whose values people read or hear. */
const SAID = new Set([
  'alt',
  'aria-description',
  'aria-label',
  'aria-roledescription',
  'label',
  'placeholder',
  'title',
]);

/** Finds what people would read on the page: texts between tags, and in attributes that are read. */
function saidIn(node: unknown, isSaid = false): string[] {
  if (Array.isArray(node)) return node.flatMap((each) => saidIn(each, isSaid));
  if (typeof node !== 'object' || node === null) return [];
  const { type, name, value, ...rest } = node as Readonly<Record<string, unknown>>;
  if (type === 'JSXAttribute') return saidIn(value, SAID.has(String((name as { readonly name: unknown }).name)));
  const isRead = type === 'JSXText' || (isSaid && type === 'Literal' && typeof value === 'string');
  if (isRead) return /\p{L}/u.test(String(value)) ? [String(value)] : [];
  return [name, value, ...Object.values(rest)].flatMap((each) => saidIn(each, isSaid));
}

t.test('texts of the page are only in the file of texts', async (t) => {
  const files = globSync('*.tsx', { cwd: folder });
  t.ok(files.length > 20);
  for (const file of files) {
    const { program } = parseSync(basename(file), readFileSync(join(folder, file), 'utf8'));
    t.strictSame(saidIn(program.body), [], file);
  }
  t.strictSame(saidIn(parseSync('x.tsx', '<p class="a" title="Said">Read {b === "c"}</p>').program.body), [
    'Said',
    'Read ',
  ]);
});

t.test('the texts are replaced by those of a module', { skip: skipWithoutBrowser() }, async (t) => {
  const orm = await openSqlite(t, { entities: ENTITIES });
  const directory = await mkdtemp(join(tmpdir(), 'texts-'));
  const moduleOf = async (name: string, source: string): Promise<URL> => {
    await writeFile(join(directory, name), source);
    return pathToFileURL(join(directory, name));
  };
  const texts = await moduleOf(
    'de.mjs',
    `export default {
      logIn: 'Anmelden', rootTitle: 'Sammlungen', noScript: 'Diese Seite braucht JavaScript.',
      search: (name) => name + ' durchsuchen',
    };`,
  );
  const app = await startLibrary(t, orm, { options: { language: 'de', texts } });
  const page = await openPage(t, await openBrowser(t), { baseURL: await app.listen() });
  await page.goto('/api/books');
  await page.getByRole('button', { name: 'Anmelden' }).waitFor();
  await page.getByPlaceholder('Books durchsuchen').waitFor();
  await page.getByRole('button', { name: 'Filters' }).waitFor();
  t.equal(await page.evaluate(() => document.documentElement.lang), 'de');
  t.match(
    (await app.inject({ url: '/api', headers: { accept: 'text/html' } })).body,
    'Diese Seite braucht JavaScript.',
  );
  await t.rejects(
    startLibrary(t, orm, { options: { texts: await moduleOf('wrong.mjs', "export default { logIm: 'Anmelden' };") } }),
    ImproperlyConfigured,
  );
  await t.rejects(
    startLibrary(t, orm, { options: { texts: await moduleOf('kind.mjs', "export default { search: 'Suche' };") } }),
    { message: /"search" must be a function/ },
  );
  await t.rejects(startLibrary(t, orm, { options: { language: 'de"' } }), {
    message: /"language" must be a language tag/,
  });
  await t.rejects(startLibrary(t, orm, { options: { texts: new URL('https://example.com/de.js') } }), {
    message: /"texts" must be the URL of a file/,
  });
});
