/** The commands that requests send to MongoDB, one after the other. */
import { defineEntity, p } from '@mikro-orm/core';
import t, { type Test } from 'tap';
import { action, many, ModelViewSet, readShape, Router, writeShape } from '@viewset/core';
import { openMongo, skipMongo } from '../../core/test/support/databases.ts';
import { Book, fillLibrary, LIBRARY, Publisher, testApp } from '../../core/test/support/library.ts';

const Tag = defineEntity({
  name: 'Tag',
  properties: { name: p.string().length(20).primary(), note: p.string().length(20).nullable() },
});

const Shelf = defineEntity({
  name: 'Shelf',
  properties: { id: p.integer().primary(), name: p.string().length(20), tags: () => p.manyToMany(Tag) },
});

const BookViewSet = ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title', 'pages']),
  write: writeShape(Book, ['title', 'pages']),
  searchFields: ['title'],
  filterFields: { min_pages: 'pages__gte', by: 'publisher__name', of: 'publisher' },
  orderingFields: { pages: 'pages', publisher: 'publisher__name' },
});
const ShownWithPublisher = ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title'], { publisher: 'publisher.name' }),
});
const Tagged = ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title', 'pages']),
  write: writeShape(Book, ['title', 'pages', 'publisher']),
  etags: true,
});
const TaggedPlain = ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title', 'pages', 'in_print']),
  write: writeShape(Book, ['title', 'pages']),
  requireIfMatch: true,
});
const Uncounted = ModelViewSet(Book, { read: readShape(Book, ['id', 'title']), count: 'none' });
const TagViewSet = ModelViewSet(Tag, {
  read: readShape(Tag, ['name', 'note']),
  write: writeShape(Tag, ['name', 'note']),
});
const PublisherViewSet = ModelViewSet(Publisher, {
  read: readShape(Publisher, ['id', 'name']),
  write: writeShape(Publisher, ['name']),
});
const ShelfViewSet = ModelViewSet(Shelf, {
  read: readShape(Shelf, ['id', 'name'], { tags: many('tags.name') }),
});

/** The part of the connection that is used, whose driver is a dependency of @mikro-orm/mongodb alone. */
interface Connection {
  getClient(): {
    on(
      event: 'commandStarted',
      listener: (started: { commandName: string; command: Record<string, unknown> }) => void,
    ): void;
  };
}

/** An application, and the commands that it has sent since the last look. */
async function observed(t: Test) {
  const entities = [...LIBRARY, Tag, Shelf];
  const orm = await openMongo(t, { entities, orm: { driverOptions: { monitorCommands: true } } });
  await fillLibrary(orm);
  const em = orm.em.fork();
  em.create(Publisher, { name: 'East' });
  em.create(Shelf, { name: 'A', tags: [em.create(Tag, { name: 'old' }), em.create(Tag, { name: 'new' })] });
  em.create(Shelf, { name: 'B', tags: [em.getReference(Tag, 'old')] });
  await em.flush();
  const router = new Router();
  router.register('books', class extends BookViewSet {});
  router.register('shown', class extends ShownWithPublisher {});
  router.register('tagged', class extends Tagged {});
  router.register('tagged-plain', class extends TaggedPlain {});
  router.register('uncounted', class extends Uncounted {});
  router.register('tags', class extends TagViewSet {});
  router.register('shelves', class extends ShelfViewSet {});
  router.register(
    'publishers',
    class extends PublisherViewSet {
      explanation = action({}, () => this.explain());
    },
  );
  const app = await testApp(t, orm, [router]);
  let sent: string[] = [];
  const client = (orm.em.getConnection() as unknown as Connection).getClient();
  client.on('commandStarted', ({ commandName, command }) => {
    const collection: unknown = commandName === 'getMore' ? command.collection : command[commandName];
    if (typeof collection === 'string') sent.push(`${commandName} ${collection}`);
    else if (commandName.endsWith('Transaction')) sent.push(commandName);
  });
  return {
    read: async (url: string) => (await app.inject(url)).json(),
    ask: async (
      method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
      url: string,
      payload?: object,
      headers: Record<string, string> = {},
    ): Promise<string[]> => {
      sent = [];
      const given = { method, url, headers, ...(payload !== undefined && { payload }) };
      const { statusCode, body } = await app.inject(given);
      t.ok(statusCode < 300, `${method} ${url} ${body}`);
      return sent;
    },
    tagOf: async (url: string) => String((await app.inject(url)).headers['etag']),
  };
}

t.test('the commands of a request', { skip: skipMongo() }, async (t) => {
  const { ask, read, tagOf } = await observed(t);

  t.test('a page of a view comes with the number of its records', async (t) => {
    t.strictSame(await ask('GET', '/books?page_size=2'), ['aggregate book']);
    t.strictSame(await ask('GET', '/books?page_size=2&page=3'), ['aggregate book']);
    t.strictSame(await ask('GET', '/books?page_size=10'), ['aggregate book']);
    t.strictSame(await ask('GET', '/uncounted?page_size=2'), ['find book'], 'if it tells the number');
  });

  t.test('a page that a client has narrowed is counted unless it shows the number', async (t) => {
    t.strictSame(await ask('GET', '/books?page_size=2&search=e'), ['find book', 'aggregate book']);
    t.strictSame(await ask('GET', '/books?page_size=2&search=e&page=2'), ['find book']);
    t.strictSame(await ask('GET', '/books?search=e&sort=-pages'), ['find book']);
  });

  t.test('a filter is part of the command that reads, and of the one that counts', async (t) => {
    for (const filter of ['min_pages=100', 'of=1']) {
      t.strictSame(await ask('GET', `/books?page_size=1&${filter}`), ['find book', 'aggregate book'], filter);
      t.strictSame(await ask('GET', `/books?page_size=10&${filter}`), ['find book'], filter);
    }
    t.strictSame(await ask('GET', '/books?page_size=1&by=North'), ['aggregate book', 'aggregate book']);
    t.strictSame(await ask('GET', '/books?page_size=10&by=North'), ['aggregate book']);
  });

  t.test('related records come with the command of the page', async (t) => {
    t.strictSame(await ask('GET', '/shown?page_size=2'), ['aggregate book']);
    t.strictSame(await ask('GET', '/shown?page_size=10'), ['aggregate book']);
    t.strictSame(await ask('GET', '/books?page_size=2&sort=publisher'), ['aggregate book', 'aggregate book']);
  });

  t.test('each relation to many adds one command', async (t) => {
    t.strictSame(await ask('GET', '/shelves'), ['aggregate shelf', 'aggregate shelf']);
  });

  t.test('a record is one', async (t) => {
    t.strictSame(await ask('GET', '/books/1'), ['find book']);
    t.strictSame(await ask('GET', '/shown/1'), ['aggregate book']);
  });

  t.test('a record that refers to nothing is stored by one, and one that counts its key', async (t) => {
    t.strictSame(await ask('POST', '/tags', { name: 'rare' }), ['insert tag']);
    t.strictSame(await ask('POST', '/books', { title: 'Fir' }), ['findAndModify viewset_counters', 'insert book']);
    t.strictSame(await ask('PATCH', '/books/1', { pages: 5 }), ['findAndModify book']);
    t.strictSame(await ask('DELETE', '/books/1'), ['findAndModify book']);
  });

  t.test('records that are stored at once count their keys together', async (t) => {
    const RECORDS = 20;
    const asked = await Promise.all(Array.from({ length: RECORDS }, () => ask('POST', '/books', { title: 'Wych' })));
    const sent = asked.at(-1)!;
    const countings = sent.filter((command) => command === 'findAndModify viewset_counters').length;
    t.ok(countings < RECORDS / 2, `${countings} commands`);
    t.equal(sent.filter((command) => command === 'insert book').length, RECORDS);
    const { results } = await read(`/books?page_size=${RECORDS}&search=Wych`);
    const ids = results.map(({ id }: { id: number }) => id);
    t.strictSame(
      ids,
      Array.from(ids, (_, index) => ids[0] + index),
      'without a gap',
    );
  });

  t.test('a write with If-Match compares the record, locks it, compares it again and writes it', async (t) => {
    const url = '/tagged-plain/4';
    const comparing = ['find book', 'update book', 'find book', 'find book'];
    const changing = [...comparing, 'update book', 'find book', 'commitTransaction'];
    t.strictSame(await ask('PATCH', url, { pages: 5 }, { 'if-match': await tagOf(url) }), changing);
    t.strictSame(await ask('PATCH', url, { pages: 6 }, { 'if-match': `"other", ${await tagOf(url)}` }), changing);
    t.strictSame(await ask('PATCH', url, { pages: 7 }, { 'if-match': '*' }), ['findAndModify book']);
    const deleting = [...comparing, 'delete book', 'commitTransaction'];
    t.strictSame(await ask('DELETE', url, undefined, { 'if-match': await tagOf(url) }), deleting);
  });

  t.test('a DELETE is one command, also if bodies may contain references', async (t) => {
    t.strictSame(await ask('DELETE', '/tagged/3'), ['findAndModify book']);
  });

  t.test('a write with an entity is a transaction: it locks, reads, writes and reads the stored record', async (t) => {
    const commit = 'commitTransaction';
    t.strictSame(
      await ask('POST', '/tagged', { title: 'Gum', publisher: 1 }),
      ['find publisher', 'findAndModify viewset_counters', 'update publisher', 'insert book', 'find book', commit],
      'a record that is referred to is looked for, and locked',
    );
    const url = '/tagged/2';
    const changing = ['update book', 'find book', 'update book', 'find book', commit];
    t.strictSame(await ask('PATCH', url, { pages: 7 }), changing);
    t.strictSame(
      await ask('PATCH', url, { pages: 8 }, { 'if-match': await tagOf(url) }),
      ['find book', 'update book', 'find book', 'find book', 'update book', 'find book', commit],
      'a tag is compared before the lock and under it',
    );
  });

  t.test('a record that others may refer to is deleted in a transaction that looks for them', async (t) => {
    t.strictSame(await ask('DELETE', '/publishers/3'), ['findAndModify publisher', 'find book', 'commitTransaction']);
    const { destroy, create } = await read('/publishers/explanation');
    t.strictSame(destroy, {
      oneStatement: false,
      reasons: ['records may refer to Publisher: MongoDB looks for them in the transaction that deletes one'],
    });
    t.strictSame(create, { oneStatement: true, reasons: [] });
  });
});
