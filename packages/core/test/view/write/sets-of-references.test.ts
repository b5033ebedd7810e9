import type { InferEntity, MikroORM } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import {
  action,
  getCurrentUser,
  many,
  ModelViewSet,
  nested,
  Permission,
  type PermissionView,
  readShape,
  refs,
  Router,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';
import { Author, Book, fillTags, SHELVES, Tag } from '../../support/shelves.ts';
import { recordQueries } from '../../query/record-queries.ts';

const read = readShape(Book, ['id', 'title']);

class UserTags extends Permission {
  override scope(request: FastifyRequest, view: PermissionView) {
    return this.records<InferEntity<typeof Tag>>(view, { owner: getCurrentUser(request)?.role?.name ?? '' });
  }
}

class ByKey extends ModelViewSet(Book, { read, write: writeShape(Book, ['title', 'tags']) }) {}
class ByName extends ModelViewSet(Book, {
  read,
  write: writeShape(Book, ['title'], { tags: refs('tags.name', { max: 5 }) }),
}) {}
class ByPermission extends ModelViewSet(Book, {
  read,
  write: writeShape(Book, ['title'], { tags: refs('tags.name') }),
  referencePermissions: { tags: [UserTags] },
}) {}
class Shown extends ModelViewSet(Book, {
  read: readShape(Book, ['id'], { tags: many('tags.name') }),
  write: writeShape(Book, ['title', 'tags']),
}) {
  override represent(book: InferEntity<typeof Book>, request?: FastifyRequest) {
    return super.represent(book, request);
  }
}
class WithBooks extends ModelViewSet(Author, {
  read: readShape(Author, ['id', 'name']),
  write: writeShape(Author, ['name'], { books: nested(writeShape(Book, ['title', 'tags']), { update: true }) }),
}) {}
class OfTags extends ModelViewSet(Tag, {
  read: readShape(Tag, ['id', 'name']),
  write: writeShape(Tag, ['name'], { books: refs('books') }),
}) {}

forEachDatabase(t, { entities: SHELVES }, async (t, orm) => {
  const app = await testApp(t, orm, [
    new Router()
      .register('books', ByKey)
      .register('named', ByName)
      .register('own', ByPermission)
      .register('authors', WithBooks)
      .register('shown', Shown)
      .register('tags', OfTags) as Router,
  ]);
  const tagsOf = async (id: number) => (await namesOf(orm, id)).toSorted();
  const send = async (method: 'POST' | 'PUT' | 'PATCH', url: string, payload: object, user?: string) => {
    const response = await app.inject({ method, url, payload, ...(user && { headers: { 'x-user': user } }) });
    return { status: response.statusCode, body: response.json() };
  };
  t.beforeEach(() => fillTags(orm));

  for (const [url, tags] of [
    ['/books', { red: 101, blue: 102, green: 103, black: 104, none: 99 }],
    ['/named', { red: 'red', blue: 'blue', green: 'green', black: 'black', none: 'none' }],
  ] as const) {
    t.test(`a list of references replaces the set, at ${url}`, async (t) => {
      const { status, body } = await send('POST', url, { title: 'a', tags: [tags.red, tags.blue, tags.red] });
      t.equal(status, 201, JSON.stringify(body));
      t.same(await tagsOf(body.id), ['blue', 'red'], 'the same twice is once');
      const record = `${url}/${body.id}`;
      t.equal((await send('PATCH', record, { title: 'b' })).status, 200);
      t.same(await tagsOf(body.id), ['blue', 'red'], 'an absent one is left alone');
      t.equal((await send('PATCH', record, { tags: [tags.green, tags.red] })).status, 200);
      t.same(await tagsOf(body.id), ['green', 'red']);
      t.equal((await send('PUT', record, { title: 'b', tags: [tags.blue] })).status, 200);
      t.same(await tagsOf(body.id), ['blue']);
      t.equal((await send('PATCH', record, { tags: [] })).status, 200);
      t.same(await tagsOf(body.id), []);
    });

    t.test(`every reference to nothing is named with its place, at ${url}`, async (t) => {
      const { body } = await send('POST', url, { title: 'a', tags: [tags.red] });
      for (const [method, path] of [
        ['POST', url],
        ['PUT', `${url}/${body.id}`],
        ['PATCH', `${url}/${body.id}`],
      ] as const) {
        const refused = await send(method, path, { title: 'b', tags: [tags.red, tags.none, tags.blue, tags.black] });
        t.equal(refused.status, 400);
        t.same(
          refused.body.details.map(({ path: place }: { path: string }) => place),
          ['/tags/1', '/tags/3'],
          'the last one is hidden by a filter',
        );
      }
      t.same(await tagsOf(body.id), ['red']);
      t.equal((await orm.em.fork().findOneOrFail(Book, body.id)).title, 'a');
    });
  }

  t.test('a list does not remove references that a filter hides, and neither does that of a child', async (t) => {
    const em = orm.em.fork();
    const author = em.create(Author, { name: 'Ada' });
    const book = em.create<InferEntity<typeof Book>>(Book, { title: 'a', author, tags: [101, 104] } as never);
    await em.flush();
    const children = (tags: number[]) => ({ books: [{ id: book.id, tags }] });
    for (const [url, payload, names] of [
      [`/books/${book.id}`, { tags: [102, 103] }, ['black', 'blue', 'green']],
      [`/books/${book.id}`, { tags: [] }, ['black']],
      [`/authors/${author.id}`, children([101]), ['black', 'red']],
      [`/authors/${author.id}`, children([]), ['black']],
    ] as const) {
      const answer = await send('PATCH', url, payload);
      t.equal(answer.status, 200, JSON.stringify(answer.body));
      t.same(await tagsOf(book.id), names, `${url} ${JSON.stringify(payload)}`);
    }
    const shown = await send('PATCH', `/shown/${book.id}`, { tags: [101] });
    t.same(shown.body, { id: book.id, tags: ['red'] }, 'no answer shows it');
  });

  t.test('a list of any length is looked up in one statement', async (t) => {
    const { body } = await send('POST', '/books', { title: 'a', tags: [101] });
    for (const tags of [[102], [101, 102, 103]]) {
      const queries = recordQueries(orm);
      await send('PATCH', `/books/${body.id}`, { tags });
      queries.stop();
      // MikroORM loads the set itself, on MongoDB by a query of its own.
      const lookups = queries.readsOf('tag').filter((text) => !text.startsWith('db.getCollection'));
      t.equal(lookups.length, 1, queries.texts.join('\n'));
    }
  });

  t.test('an invalid list of keys returns 400', async (t) => {
    for (const [tags, path] of [
      [null, '/tags'],
      ['red', '/tags'],
      [{ 0: 1 }, '/tags'],
      [[null], '/tags/0'],
      [['1'], '/tags/0'],
      [[1, 1.5], '/tags/1'],
      [[[1]], '/tags/0'],
      [[1, 2 ** 53], '/tags/1'],
      [Array.from({ length: 1001 }, () => 101), '/tags'],
      [Array.from({ length: 200_000 }, () => 1), '/tags'],
    ] as const) {
      const { status, body } = await send('POST', '/books', { title: 'a', tags });
      t.equal(status, 400, JSON.stringify(body));
      t.equal(body.details[0].path, path);
    }
    for (const tags of [['red', 5], ['a\0'], ['\ud800'], ['x'.repeat(100)], [{ __proto__: { name: 'red' } }]]) {
      t.equal((await send('POST', '/named', { title: 'a', tags })).status, 400, JSON.stringify(tags));
    }
    t.equal(
      (await send('POST', '/named', { title: 'a', tags: ['red', 'red', 'red', 'red', 'red', 'red'] })).status,
      400,
    );
    t.equal((await send('POST', '/named', { title: '', tags: ['', 5] })).body.details.length, 3);
  });

  t.test('references to records that the user may not see are rejected', async (t) => {
    const refused = await send('POST', '/own', { title: 'a', tags: ['red', 'green', 'none'] }, 'Ada');
    t.same(
      refused.body.details.map(({ path }: { path: string }) => path),
      ['/tags/1', '/tags/2'],
    );
    const { status, body } = await send('POST', '/own', { title: 'a', tags: ['red', 'blue'] }, 'Ada');
    t.equal(status, 201);
    t.same(await tagsOf(body.id), ['blue', 'red']);
  });

  t.test('the other side of the relation is written too', async (t) => {
    const { body: book } = await send('POST', '/books', { title: 'a', tags: [101, 102] });
    const { body: other } = await send('POST', '/books', { title: 'b' });
    t.equal((await send('PATCH', '/tags/101', { books: [other.id] })).status, 200);
    t.same([await tagsOf(book.id), await tagsOf(other.id)], [['blue'], ['red']]);
    const { status, body: tag } = await send('POST', '/tags', { name: 'new', books: [book.id, other.id] });
    t.equal(status, 201, JSON.stringify(tag));
    t.same(
      [await tagsOf(book.id), await tagsOf(other.id)],
      [
        ['blue', 'new'],
        ['new', 'red'],
      ],
    );
  });

  t.test('of two concurrent replacements of a set, one is stored completely', async (t) => {
    const { body } = await send('POST', '/books', { title: 'a', tags: [101] });
    const sets = [[101, 102], [102, 103], [103], [], [101, 102, 103]];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        send('PATCH', `/books/${body.id}`, { tags: sets[index % sets.length]! }),
      ),
    );
    t.ok(
      answers.every(({ status }) => status === 200),
      JSON.stringify(answers.filter(({ status }) => status !== 200)),
    );
    const left = JSON.stringify(await tagsOf(body.id));
    const names = ['red', 'blue', 'green'];
    t.ok(
      sets.some((set) => JSON.stringify(set.map((id) => names[id - 101] as string).toSorted(byText)) === left),
      left,
    );
  });

  t.test('explain() names why such a view needs more than one statement', async (t) => {
    class Explained extends ByKey {
      ways = action({}, () => this.explain());
    }
    const told = await testApp(t, orm, [new Router().register('told', Explained)]);
    const ways = (await told.inject('/told/ways')).json();
    for (const operation of ['create', 'update'] as const) {
      const { oneStatement, reasons } = ways[operation];
      t.equal(oneStatement, false);
      t.ok(reasons.includes('"tags" is not a plain column of Book'), reasons.join());
    }
  });
});

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}

async function namesOf(orm: MikroORM, id: number): Promise<string[]> {
  const book = await orm.em.fork().findOneOrFail(Book, id, { populate: ['tags'], filters: false });
  return book.tags.getItems().map(({ name }) => name);
}
