/**
 * A record outside the scope of a view's permissions is not there for the view's routes, nor for those below it: every answer is that
 * of a database which has the records of the scope alone. Two applications on two databases are asked the same.
 */
import { defineEntity, type InferEntity, type MikroORM, p } from '@mikro-orm/core';
import type { FastifyInstance, FastifyRequest, InjectOptions } from 'fastify';
import t, { type Test } from 'tap';
import {
  CursorPagination,
  many,
  ModelViewSet,
  Permission,
  type PermissionView,
  readShape,
  Router,
  writeShape,
} from '../../src/index.ts';
import { forEachDatabase, openMongo, openPostgreSql, openSqlite } from '../support/databases.ts';
import { testApp } from '../support/library.ts';
import { numbers } from '../support/numbers.ts';

const Shelf = defineEntity({
  name: 'Shelf',
  properties: { id: p.integer().primary(), name: p.string(), books: () => p.oneToMany(Book).mappedBy('shelf') },
});
const Book = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    title: p.string(),
    shelf: () => p.manyToOne(Shelf),
    readers: () => p.oneToMany(Reader).mappedBy('book'),
    notes: () => p.oneToMany(Note).mappedBy('book'),
  },
});
const Reader = defineEntity({
  name: 'Reader',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    role: p.string(),
    book: () => p.manyToOne(Book).deleteRule('cascade'),
  },
});
const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary(), text: p.string(), book: () => p.manyToOne(Book).deleteRule('cascade') },
});
const entities = [Shelf, Book, Reader, Note];

class ReadByAnn extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<InferEntity<typeof Book>>(view, { readers__name: 'ann', readers__role: 'owner' });
  }
}

const books = {
  read: readShape(Book, ['id', 'title', 'shelf'], { shelf_name: 'shelf.name', notes: many('notes.text') }),
  write: writeShape(Book, ['title', 'shelf']),
  searchFields: ['title', 'shelf__name', 'notes__text'],
  filterFields: {
    title: 'title__gte',
    not: 'title__ne',
    shelf: 'shelf__name',
    note: 'notes__text',
    reader: 'readers__name',
  },
  jsonLogicFields: ['title', 'shelf.name', 'notes.text'],
  orderingFields: { title: 'title', shelf: 'shelf__name' },
  expand: { readers: many(readShape(Reader, ['name'])) },
  exports: ['csv', 'ndjson'],
  queryMethod: true,
  bulk: 10,
  permissionClasses: [ReadByAnn],
} as const;
class BookViewSet extends ModelViewSet(Book, books) {}
class CursorViewSet extends ModelViewSet(Book, { ...books, pagination: CursorPagination }) {}
class EntityViewSet extends ModelViewSet(Book, books) {
  override represent(...given: Parameters<BookViewSet['represent']>) {
    return super.represent(...given);
  }
}
class ShelfViewSet extends ModelViewSet(Shelf, { read: readShape(Shelf, ['id', 'name']) }) {}
class NoteViewSet extends ModelViewSet(Note, {
  read: readShape(Note, ['id', 'text']),
  write: writeShape(Note, ['text', 'book']),
  exports: ['ndjson'],
  queryMethod: true,
}) {}

const router = (): Router =>
  new Router()
    .register('books', BookViewSet)
    .register('cursors', CursorViewSet)
    .register('entities', EntityViewSet)
    .register('shelves', ShelfViewSet)
    .register('shelves/:shelf/books', BookViewSet)
    .register('books/:book/notes', NoteViewSet)
    .register('entities/:book/notes', NoteViewSet, { basename: 'entity-notes' })
    .register('shelves/:shelf/books/:book/notes', NoteViewSet);

const BOOKS = 24;

async function fill(orm: MikroORM, keeps: (id: number) => boolean): Promise<void> {
  const em = orm.em.fork();
  const ids = Array.from({ length: BOOKS }, (_, index) => index + 1).filter(keeps);
  await em.insertMany(
    Shelf,
    [1, 2, 3].map((id) => ({ id, name: `s${id}` })),
  );
  await em.insertMany(
    Book,
    ids.map((id) => ({ id, title: `b${id % 7}`, shelf: 1 + (id % 3) })),
  );
  await em.insertMany(
    Reader,
    ids.flatMap((id) => readersOf(id).map((one, index) => ({ id: id * 10 + index, book: id, ...one }))),
  );
  await em.insertMany(
    Note,
    ids.flatMap((id) => [0, 1].map((index) => ({ id: id * 10 + index, book: id, text: `n${(id + index) % 5}` }))),
  );
}

/** Ann owns every third book, and is a guest of others that somebody owns. */
function readersOf(id: number): { name: string; role: string }[] {
  const ann = { name: 'ann', role: id % 3 === 0 ? 'owner' : 'guest' };
  const bob = { name: 'bob', role: id % 3 === 0 ? 'guest' : 'owner' };
  return id % 3 === 2 ? [bob] : [ann, bob];
}

forEachDatabase(t, { entities }, async (t, whole, database) => {
  const open = { sqlite: openSqlite, postgresql: openPostgreSql, mongodb: openMongo }[database];
  const sparse = await open(t, { entities });
  await fill(whole, () => true);
  await fill(sparse, (id) => id % 3 === 0);
  const options = { secret: 'z'.repeat(32) };
  let apps: readonly FastifyInstance[];
  t.before(async () => {
    apps = await Promise.all([whole, sparse].map((orm) => testApp(t, orm, [router()], { options })));
  });
  const same = async (t: Test, request: InjectOptions & { readonly url: string }): Promise<string> => {
    const [seen, expected] = await Promise.all(apps.map((app) => app.inject(request)));
    const about = `${request.method ?? 'GET'} ${request.url} ${JSON.stringify(request.payload ?? '')}`;
    const plain = (body: string): string => body.replaceAll(/_cursor":"[^"]+"/g, '_cursor":""');
    t.equal(seen!.statusCode, expected!.statusCode, about);
    t.equal(plain(seen!.body), plain(expected!.body), about);
    return seen!.body;
  };

  await t.test('lists, their counts and exports, by GET and by QUERY', async (t) => {
    const random = numbers(0x5c0e);
    const pickOf = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)]!;
    for (let time = 0; time < 120; time++) {
      const url = pickOf(['/books', '/cursors', '/entities', '/shelves/1/books', `/books/${1 + (time % BOOKS)}/notes`]);
      const query: Record<string, string> = {};
      if (!url.endsWith('notes')) {
        if (random() < 0.3) query[pickOf(['title', 'not'])] = pickOf(['b1', 'b3', 'b6']);
        if (random() < 0.2) query['shelf'] = pickOf(['s1', 's2']);
        if (random() < 0.2) query['note'] = pickOf(['n1', 'n4']);
        if (random() < 0.2) query['reader'] = pickOf(['ann', 'bob']);
        if (random() < 0.2) query['search'] = pickOf(['b', 's1', 'n2']);
        if (random() < 0.2) query['filter'] = JSON.stringify({ '!': { '==': [{ var: 'notes.text' }, 'n3'] } });
        if (random() < 0.5) query['sort'] = pickOf(['-title', 'shelf,-title']);
        if (random() < 0.3) query['expand'] = 'readers';
      }
      query['page_size'] = pickOf(['2', '100']);
      const headers = { accept: random() < 0.2 ? 'application/x-ndjson' : 'application/json' };
      if (random() < 0.4) await same(t, { method: 'QUERY', url, payload: query, headers });
      else await same(t, { url: `${url}?${new URLSearchParams(query).toString()}`, headers });
    }
    t.match(await same(t, { url: '/books' }), /"count":8,/);
  });

  await t.test('records, nested records and writes', async (t) => {
    for (let id = 1; id <= BOOKS + 1; id++) {
      for (const path of ['/books', '/entities', '/shelves/1/books']) {
        await same(t, { url: `${path}/${id}?expand=readers` });
        if (!path.startsWith('/shelves/')) await same(t, { url: `${path}/${id}/notes` });
      }
      await same(t, { url: `/shelves/2/books/${id}/notes` });
      await same(t, { url: `/books/${id}/notes/${id * 10}` });
      if (id % 3 === 0) continue;
      for (const path of ['/books', '/entities']) {
        await same(t, { method: 'PATCH', url: `${path}/${id}`, payload: { title: 'mine' } });
        await same(t, { method: 'DELETE', url: `${path}/${id}` });
        await same(t, {
          method: 'PATCH',
          url: path,
          payload: [
            { id: 3, title: 'b3' },
            { id, title: 'mine' },
          ],
        });
        await same(t, { method: 'DELETE', url: `${path}?pk=3,${id}` });
        await same(t, { method: 'POST', url: `${path}/${id}/notes`, payload: { text: 'mine' } });
        await same(t, { method: 'PATCH', url: `${path}/${id}/notes/${id * 10}`, payload: { text: 'mine' } });
      }
    }
    t.equal(await whole.em.fork().count(Book), BOOKS, 'nothing was deleted');
    t.equal(await whole.em.fork().count(Book, { title: 'mine' }), 0);
    t.equal(await whole.em.fork().count(Note, { text: 'mine' }), 0);
  });
});
