/** Where an editor goes from a call of a client ("go to definition"), by the language server of TypeScript. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import t from 'tap';
import { LanguageServer } from '../../../scripts/language-server.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const scratch = fileURLToPath(new URL('../.definitions', import.meta.url));

const VIEWS = `
import { defineEntity, p } from '@mikro-orm/core';
import { action, ModelViewSet, readShape, Router, ViewSet, writeShape } from '@viewset/core';
import type { FastifyRequest } from 'fastify';

const BookSchema = defineEntity({ name: 'Book', properties: { id: p.integer().primary(), title: p.string() } });
class Book extends BookSchema.class {}
BookSchema.setClass(Book);

class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title']),
  write: writeShape(Book, ['title']),
  filterFields: { starts: 'title__startswith' },
}) {
  override async destroy(request: FastifyRequest) {
    await this.getObject(request);
  }
  newest = action({}, () => []);
  lend = action({ methods: ['post'], detail: true }, () => ({}));
}
class ClockViewSet extends ViewSet {
  override list() {
    return { time: 1 };
  }
}
export const router = new Router().register('books', BookViewSet).register('clock', ClockViewSet);
`;

const CALLS: Readonly<Record<string, readonly [file: string, line: string]>> = {
  'api.books.|newest()': ['views.ts', 'newest = action({}, () => []);'],
  'api.books.|lend.post(1)': ['views.ts', "lend = action({ methods: ['post'], detail: true }, () => ({}));"],
  'api.books.|destroy(1)': ['views.ts', 'override async destroy(request: FastifyRequest) {'],
  "api.books.list({ |starts: 'a' })": ['views.ts', "filterFields: { starts: 'title__startswith' },"],
  // The view inherits it.
  'api.books.|retrieve(1)': ['model-viewset-base.ts', 'override async retrieve('],
  'api.clock.|list()': ['views.ts', 'override list() {'],
};

t.test('an editor goes from a call to the view', async (t) => {
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { recursive: true });
  t.teardown(() => rmSync(scratch, { recursive: true, force: true }));
  writeFileSync(join(scratch, 'views.ts'), VIEWS);
  const head = `import { createClient } from '@viewset/client';
import type { router } from './views.ts';
const api = createClient<typeof router>({ url: '/' });`;
  const calls = Object.keys(CALLS);
  const text = [head, ...calls.map((call) => `void ${call.replace('|', '')};`)].join('\n');
  const file = join(scratch, 'calls.ts');
  writeFileSync(file, text);
  const paths = Object.fromEntries(
    ['core', 'client'].map((name) => [`@viewset/${name}`, [join(root, 'packages', name, 'src/index.ts')]]),
  );
  const config = { extends: '../../../tsconfig.base.json', compilerOptions: { paths }, include: ['*.ts'] };
  writeFileSync(join(scratch, 'tsconfig.json'), JSON.stringify(config));
  const server = new LanguageServer(scratch);
  t.teardown(() => server.close());
  const { href } = pathToFileURL(file);
  await server.open(href, text);
  const first = head.split('\n').length;
  for (const [index, call] of calls.entries()) {
    const position = { line: first + index, character: 'void '.length + call.indexOf('|') };
    const places = await server.definitions(href, position);
    const [name, line] = CALLS[call]!;
    const isThere = places.some((place) => place.file.endsWith(name) && place.line.startsWith(line));
    t.ok(isThere, `${call} leads to ${name}`, { places });
  }
});
