import type { InferEntity } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import t from 'tap';
import { ModelViewSet, nested, NotFound, readShape, refs, Router, writeShape } from '../../../src/index.ts';
import { recordQueries } from '../../query/record-queries.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';
import { Author, Book, Chapter, fillTags, SHELVES } from '../../support/shelves.ts';

const read = readShape(Book, ['id', 'title']);
const write = writeShape(Book, ['title', 'isbn', 'author'], { tags: refs('tags.name', { max: 4 }) });
const chapter = writeShape(Chapter, ['heading'], { tags: refs('tags') });
const withChapters = writeShape(Book, ['title'], {
  tags: refs('tags.name'),
  chapters: nested(chapter, { update: true }),
});

class Books extends ModelViewSet(Book, { read, write, bulk: 60, lookupField: 'id' }) {}
class RuledBooks extends ModelViewSet(Book, {
  read,
  write,
  bulk: 5,
  validate: (data, problems) => {
    if (data.author === 7) problems.add('/author', 'is no author of ours');
    if (data.title === 'Odd') problems.add('/title', 'is odd');
  },
}) {}
class Authors extends ModelViewSet(Author, {
  read: readShape(Author, ['id', 'name']),
  write: writeShape(Author, ['name'], { books: nested(withChapters, { update: true }) }),
}) {}
/** Each operation goes on with the library's own. */
class CustomBooks extends ModelViewSet(Book, { read, write, bulk: 5 }) {
  override async create(request: FastifyRequest, reply: FastifyReply) {
    reached.push(request.body);
    return super.create(request, reply);
  }
  override async update(request: FastifyRequest, reply: FastifyReply) {
    reached.push(request.body);
    return super.update(request, reply);
  }
  override async createMany(request: FastifyRequest, reply: FastifyReply) {
    reached.push(request.body);
    return super.createMany(request, reply);
  }
  override async updateMany(request: FastifyRequest, reply: FastifyReply) {
    reached.push(request.body);
    return super.updateMany(request, reply);
  }
}
/** Overrides what takes several records, and has rules. */
class CustomBulk extends ModelViewSet(Book, {
  read,
  write,
  bulk: 5,
  validate: (data, problems) => {
    if (data.title === 'Odd') problems.add('/title', 'is odd');
  },
}) {
  override async createMany(request: FastifyRequest): Promise<never> {
    reached.push(request.body);
    throw new NotFound('reached');
  }
}
const reached: unknown[] = [];

forEachDatabase(t, { entities: SHELVES }, async (t, orm) => {
  const router = new Router()
    .register('books', Books)
    .register('ruled', RuledBooks)
    .register('authors', Authors)
    .register('own', CustomBooks)
    .register('own-several', CustomBulk)
    .register('authors/:author/books', Books);
  const app = await testApp(t, orm, [router]);
  /** Answers with the status and the faults: their places, and after those of references that these are. */
  const send = async (method: 'POST' | 'PUT' | 'PATCH', url: string, payload: object) => {
    reached.length = 0;
    const response = await app.inject({ method, url, payload });
    const { details = [] } = response.json<{ details?: { path: string; message: string }[] }>();
    const places = details.map(({ path, message }) =>
      /of an existing|of this record/.test(message) ? `${path} missing` : path,
    );
    return [response.statusCode, ...places.toSorted()];
  };
  const refused = (...places: readonly string[]) => [400, ...places.toSorted()];
  let author: number;
  let book: number;
  t.beforeEach(async () => {
    await fillTags(orm);
    const em = orm.em.fork();
    const ada = em.create(Author, { name: 'Ada' });
    const ash: InferEntity<typeof Book> = em.create(Book, { title: 'Ash', author: ada });
    em.create(Chapter, { heading: 'I', book: ash });
    await em.flush();
    [author, book] = [ada.id, ash.id];
  });

  t.test('a reference to a missing record is reported together with the schema errors', async (t) => {
    const wrong = { title: 5, author: 9999, tags: ['red', 'pink', 7, 'grey'] };
    const all = ['/title', '/author missing', '/tags/1 missing', '/tags/2', '/tags/3 missing'];
    for (const view of ['books', 'ruled', 'own']) {
      t.same(await send('POST', `/${view}`, wrong), refused(...all), `POST /${view}`);
      for (const method of ['PUT', 'PATCH'] as const) {
        t.same(await send(method, `/${view}/${book}`, wrong), refused(...all), `${method} /${view}`);
        t.same(
          await send(method, `/${view}/999999`, wrong),
          refused(...all),
          `${method} /${view}, of a record that is not there`,
        );
      }
      t.same(await send('PATCH', `/${view}/${book}`, { author: 9999 }), refused('/author missing'));
      t.same(await send('PATCH', `/${view}/${book}`, { author }), [200]);
    }
    t.equal(await orm.em.fork().count(Book), 1);
  });

  t.test('a view that overrides an operation does not receive a body with schema errors', async (t) => {
    await send('POST', '/own', { title: 5, author: 9999 });
    t.same(reached, []);
    await send('POST', '/own', [{ title: 5 }]);
    await send('PATCH', '/own', [{ id: book, title: 5 }]);
    t.same(reached, []);
    t.same(
      await send('POST', '/own-several', [{ title: 5 }, { title: 'a', author: 9999 }]),
      refused('/0/title', '/1/author missing'),
    );
    t.same(reached, []);
    t.same(await send('POST', '/own-several', [{ title: 'a' }]), [404]);
    t.equal(reached.length, 1);
  });

  t.test('values that fail their schema are not looked up in the database', async (t) => {
    const questions = recordQueries(orm);
    for (const wrong of [
      { title: 'a', author: 'x' },
      { title: 5, author: 2 ** 40, tags: [5, 'a\0b', 'x'.repeat(21)] },
      { title: 5, tags: ['red', 'blue', 'green', 'pink', 'grey'] },
      { title: 'a', author: {}, tags: 'red' },
    ]) {
      const answer = await send('POST', '/books', wrong);
      t.equal(answer[0], 400);
      t.notOk(String(answer).includes('missing'), String(answer));
      t.same([...questions.readsOf('author'), ...questions.readsOf('tag')], [], JSON.stringify(wrong));
    }
    questions.stop();
    t.same(
      await send('POST', '/ruled', { title: 'Odd', author: 7, tags: ['pink'] }),
      refused('/author', '/title', '/tags/0 missing'),
    );
  });

  t.test('references of children are reported together with all other errors', async (t) => {
    const books = [
      { title: 'Ash', tags: ['pink'], chapters: [{ heading: 5, tags: [101, 9999, 'x'] }] },
      { title: 'a\0b', tags: ['grey'], chapters: [{ heading: 'I', tags: [9998] }, { heading: 'a\0b' }] },
      'Birch',
      { tags: ['red'] },
    ];
    const all = [
      '/books/0/tags/0 missing',
      '/books/0/chapters/0/heading',
      '/books/0/chapters/0/tags/1 missing',
      '/books/0/chapters/0/tags/2',
      '/books/1/title',
      '/books/1/tags/0 missing',
      '/books/1/chapters/0/tags/0 missing',
      '/books/1/chapters/1/heading',
      '/books/2',
      '/books/3/title',
    ];
    t.same(await send('POST', '/authors', { name: 'Bob', books }), refused(...all));
    t.same(await send('POST', '/authors', { books }), refused('/name', ...all));
    const changed = [
      { id: book, title: 5, chapters: [{ id: 9999, heading: 'x' }, { id: 'x' }] },
      { id: 9999, tags: ['pink'] },
    ];
    t.same(
      await send('PATCH', `/authors/${author}`, { name: 7, books: changed }),
      refused(
        '/name',
        '/books/0/title',
        '/books/0/chapters/0/id missing',
        '/books/0/chapters/1/id',
        '/books/1/id missing',
        '/books/1/tags/0 missing',
      ),
    );
  });

  t.test('a bulk request reports the errors, references and keys of all records', async (t) => {
    const several = [{ title: 'a', author: 9999 }, { title: 5 }, { title: 'b', tags: ['pink'] }];
    const all = ['/0/author missing', '/1/title', '/2/tags/0 missing'];
    for (const view of ['books', 'ruled', 'own']) {
      t.same(await send('POST', `/${view}`, several), refused(...all), `POST /${view}`);
      t.same(
        await send('POST', `/${view}`, [...several, 7]),
        refused(...all, '/3'),
        `POST /${view} with what is no object`,
      );
      const changes = [
        { id: null, author: 9999 },
        { id: book, title: 5 },
        { id: book, tags: ['pink'] },
      ];
      t.same(
        await send('PATCH', `/${view}`, changes),
        refused('/0/id', '/0/author missing', '/1/title', '/2/id', '/2/tags/0 missing'),
        `PATCH /${view}`,
      );
      t.same(
        await send('PATCH', `/${view}`, [{ id: book, author: 9999, title: 5 }]),
        refused('/0/title', '/0/author missing'),
      );
    }
    t.equal(await orm.em.fork().count(Book), 1);
  });

  t.test('below a parent too', async (t) => {
    for (const url of [`/authors/${author}/books`, '/authors/9999/books']) {
      t.same(await send('POST', url, { title: 5, tags: ['pink'] }), refused('/title', '/tags/0 missing'));
      t.same(await send('POST', url, [{ title: 5, tags: ['pink'] }]), refused('/0/title', '/0/tags/0 missing'));
    }
  });

  t.test(
    'references are not looked up if a body has more errors than the response lists, or too many values',
    async (t) => {
      const many = Array.from({ length: 60 }, () => ({ title: 5, author: 'x', tags: [5] }));
      const answer = await send('POST', '/books', many);
      t.equal(answer.length, 51);
      const junk = Array.from({ length: 2500 }, () => 1);
      t.same(await send('POST', '/books', { title: 5, author: 'x', tags: 'red', junk }), refused('/title'));
      t.same(await send('POST', '/authors', { name: 5, books: 'x', junk }), refused('/name'));
    },
  );
});
