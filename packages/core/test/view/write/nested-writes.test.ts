import { defineEntity, type InferEntity, type MikroORM, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import {
  type InputOf,
  many,
  ModelViewSet,
  nested,
  readShape,
  refs,
  Router,
  type WriteData,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase, openSqlite } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';
import { Author, Book, Chapter, fillTags, SHELVES } from '../../support/shelves.ts';
import { recordQueries } from '../../query/record-queries.ts';

const read = readShape(Author, ['id', 'name']);
const chapter = writeShape(Chapter, ['heading'], { tags: refs('tags.name') });
const book = writeShape(Book, ['title', 'isbn'], {
  tags: refs('tags.name'),
  chapters: nested(chapter, { update: true, max: 5 }),
});
const whole = writeShape(Author, ['name'], { books: nested(book, { update: true, max: 10 }) });
const created = writeShape(Author, ['name'], { books: nested(book) });

class UpdatableAuthors extends ModelViewSet(Author, { read, write: whole }) {}
class CreatableAuthors extends ModelViewSet(Author, { read, write: created }) {}
/** Makes a book with each author; `flushing` ones before the answer is read. */
class WithBook extends ModelViewSet(Author, {
  read: readShape(Author, ['id', 'name'], { books: many('books.title') }),
  write: writeShape(Author, ['name']),
}) {
  override async performCreate(request: FastifyRequest, data: { name: string }) {
    const author = await super.performCreate(request, data);
    request.em.create(Book, { title: 'First', author });
    if (data.name.startsWith('flushing')) await request.em.flush();
    return author;
  }
}
class Hooked extends ModelViewSet(Author, { read, write: whole }) {
  override performCreate(request: FastifyRequest, data: WriteData<InferEntity<typeof Author>, InputOf<typeof whole>>) {
    return super.performCreate(request, { ...data, name: `${data.name}!` });
  }
  override performUpdate(
    request: FastifyRequest,
    author: InferEntity<typeof Author>,
    data: WriteData<InferEntity<typeof Author>, Partial<InputOf<typeof whole>>>,
  ) {
    return super.performUpdate(request, author, {
      ...data,
      books: [...(data.books ?? []), { title: 'Added', tags: [] }],
    });
  }
}

forEachDatabase(t, { entities: SHELVES }, async (t, orm) => {
  const app = await testApp(t, orm, [
    new Router()
      .register('authors', UpdatableAuthors)
      .register('created', CreatableAuthors)
      .register('hooked', Hooked)
      .register('with-book', WithBook) as Router,
  ]);
  const send = async (method: 'POST' | 'PUT' | 'PATCH', url: string, payload: object) => {
    const response = await app.inject({ method, url, payload });
    return { status: response.statusCode, body: response.json() };
  };
  t.beforeEach(() => fillTags(orm));

  /** Two books, the first with two chapters; answers with the path of their author, and the ids of the books. */
  const start = async () => {
    const { status, body } = await send('POST', '/authors', {
      name: 'Ada',
      books: [
        {
          title: 'Ash',
          isbn: '1',
          tags: ['red', 'blue'],
          chapters: [{ heading: 'I', tags: ['green'] }, { heading: 'II' }],
        },
        { title: 'Birch', isbn: '2' },
      ],
    });
    t.equal(status, 201, JSON.stringify(body));
    const stored = await shelf(orm, body.id);
    return { path: `/authors/${body.id}`, id: body.id as number, books: stored.map(({ id }) => id), stored };
  };

  t.test('a POST creates children of two levels with their references', async (t) => {
    const { stored } = await start();
    t.match(stored, [
      {
        title: 'Ash',
        isbn: '1',
        tags: ['blue', 'red'],
        chapters: [
          { heading: 'I', tags: ['green'] },
          { heading: 'II', tags: [] },
        ],
      },
      { title: 'Birch', isbn: '2', tags: [], chapters: [] },
    ]);
  });

  t.test('with a primary key a child is changed, without one created, left out deleted', async (t) => {
    for (const method of ['PUT', 'PATCH'] as const) {
      await fillTags(orm);
      const { path, id, books, stored } = await start();
      const [first] = stored[0]!.chapters;
      const { status, body } = await send(method, path, {
        name: 'Bob',
        books: [
          { title: 'Cedar', isbn: '3', tags: ['green'], chapters: [{ heading: 'new' }] },
          { id: books[0], tags: ['blue'], chapters: [{ heading: 'III' }, { id: first!.id, heading: 'changed' }] },
        ],
      });
      t.equal(status, 200, JSON.stringify(body));
      t.equal(body.name, 'Bob');
      const left = await shelf(orm, id);
      t.match(left, [
        {
          id: books[0],
          title: 'Ash',
          isbn: '1',
          tags: ['blue'],
          chapters: [{ id: first!.id, heading: 'changed', tags: ['green'] }, { heading: 'III' }],
        },
        { title: 'Cedar', isbn: '3', tags: ['green'], chapters: [{ heading: 'new' }] },
      ]);
      t.equal(left.length, 2);
      t.same([await orm.em.fork().count(Book), await orm.em.fork().count(Chapter)], [2, 3], 'what is left out is gone');
      t.equal((await send(method, path, { name: 'Bob' })).status, 200);
      t.equal((await shelf(orm, id)).length, 2, 'an absent list is left alone');
      t.equal((await send(method, path, { name: 'Bob', books: [] })).status, 200);
      t.same([await orm.em.fork().count(Book), await orm.em.fork().count(Chapter)], [0, 0]);
    }
  });

  t.test('unique values move between children', async (t) => {
    const { path, id, books } = await start();
    for (const list of [
      [{ title: 'takes what is deleted', isbn: '1' }, { id: books[1] }],
      [
        { title: 'takes what is freed', isbn: '2' },
        { id: books[1], isbn: '9' },
      ],
      [{ id: books[1], isbn: '2' }],
    ]) {
      const { status, body } = await send('PATCH', path, { books: list });
      t.equal(status, 200, JSON.stringify(body));
    }
    t.match(await shelf(orm, id), [{ id: books[1], isbn: '2' }]);
  });

  t.test("a primary key of another parent's child returns 400 at its path", async (t) => {
    const { path, books, stored } = await start();
    const other = await send('POST', '/authors', {
      name: 'Other',
      books: [{ title: 'Elm', chapters: [{ heading: 'E' }] }],
    });
    const [elm] = await shelf(orm, other.body.id);
    const [i] = stored[0]!.chapters;
    const hidden = books[1]!;
    await orm.em.fork().nativeUpdate(Book, { id: hidden }, { hidden: true }, { filters: false });
    const { status, body } = await send('PATCH', path, {
      books: [
        { id: books[0], chapters: [{ id: elm!.chapters[0]!.id, heading: 'stolen' }] },
        { id: elm!.id, title: 'stolen' },
        { id: 999_999, tags: ['none'] },
        { id: hidden, chapters: [{ id: i!.id }] },
      ],
    });
    t.equal(status, 400);
    t.same(body.details.map(({ path: place }: { path: string }) => place).toSorted(), [
      '/books/0/chapters/0/id',
      '/books/1/id',
      '/books/2/id',
      '/books/2/tags/0',
      '/books/3/id',
    ]);
    t.match(await shelf(orm, other.body.id), [{ title: 'Elm' }]);
    t.equal((await send('PATCH', path, { books: [{ id: books[0] }] })).status, 200);
    t.equal(await orm.em.fork().count(Book, { id: hidden }, { filters: false }), 1, 'what a filter hides stays');
  });

  t.test('errors of all levels are returned together, with their paths', async (t) => {
    const { path, books } = await start();
    const list = [
      { title: '', isbn: 5 },
      { chapters: [{ heading: 'x'.repeat(40) }, {}] },
      'no object',
      null,
      { id: 'x' },
      { id: null },
      { id: books[0], title: null, chapters: 'none' },
      { id: books[0] },
    ];
    const expected = [
      '/books/0/title',
      '/books/0/isbn',
      '/books/1/title',
      '/books/1/chapters/0/heading',
      '/books/1/chapters/1/heading',
      '/books/2',
      '/books/3',
    ];
    const posted = await send('POST', '/authors', { name: 5, books: list.slice(0, 4) });
    const placesOf = (body: { details: { path: string }[] }) => body.details.map(({ path: place }) => place).toSorted();
    t.same(placesOf(posted.body), ['/name', ...expected].toSorted());
    const patched = await send('PATCH', path, { name: 5, books: list });
    t.equal(patched.status, 400);
    t.same(
      placesOf(patched.body),
      [
        '/name',
        ...expected,
        '/books/4/id',
        '/books/5/id',
        '/books/6/title',
        '/books/6/chapters',
        '/books/7/id',
      ].toSorted(),
    );
    t.equal(
      (await send('POST', '/authors', { name: 'a', books: Array.from({ length: 11 }, () => ({ title: 'a' })) })).status,
      400,
    );
    t.equal(
      (await send('POST', '/authors', { name: 'a', books: Array.from({ length: 100_000 }, () => 0) })).status,
      400,
    );
    for (const wrong of [null, {}, 'x', [[[[]]]], [{ title: { title: {} } }]]) {
      t.equal((await send('POST', '/authors', { name: 'a', books: wrong })).status, 400, JSON.stringify(wrong));
    }
  });

  t.test('a shape that only creates children drops them on update', async (t) => {
    const { status, body } = await send('POST', '/created', { name: 'a', books: [{ title: 'Ash', id: 7 }] });
    t.equal(status, 201);
    const stored = await shelf(orm, body.id);
    for (const method of ['PUT', 'PATCH'] as const) {
      const { status } = await send(method, `/created/${body.id}`, { name: 'b', books: [{ title: '' }, 5] });
      t.equal(status, 200);
    }
    t.same(await shelf(orm, body.id), stored);
  });

  t.test('a taken unique value of a child is named at its place', async (t) => {
    const { path, books } = await start();
    const refused = await send('POST', '/authors', {
      name: 'New',
      books: [{ title: 'a', isbn: '7' }, { title: 'b', isbn: '2' }, { title: 'c' }],
    });
    t.equal(refused.status, 409, JSON.stringify(refused.body));
    t.same(refused.body.details, [{ in: 'body', path: '/books/1/isbn', message: 'is taken' }]);
    const twice = await send('POST', '/authors', {
      name: 'New',
      books: [
        { title: 'a', isbn: '7' },
        { title: 'b', isbn: '7' },
      ],
    });
    t.same(twice.body.details, [{ in: 'body', path: '/books/1/isbn', message: 'is taken' }]);
    const changed = await send('PATCH', path, { books: [{ id: books[0], isbn: '2' }, { id: books[1] }] });
    t.equal(changed.status, 409);
    t.same(changed.body.details, [{ in: 'body', path: '/books/0/isbn', message: 'is taken' }]);
    const own = await send('POST', '/authors', { name: 'Ada', books: [{ title: 'a' }] });
    t.same(own.body.details, [{ in: 'body', path: '/name', message: 'is taken' }]);
    t.equal(await orm.em.fork().count(Author), 1, 'all or nothing');
    t.equal(await orm.em.fork().count(Book), 2);
  });

  t.test('hooks get data that MikroORM takes, and may add to it', async (t) => {
    const { status, body } = await send('POST', '/hooked', { name: 'Ada', books: [{ title: 'Ash', tags: ['red'] }] });
    t.equal(status, 201, JSON.stringify(body));
    t.equal(body.name, 'Ada!');
    const [ash] = await shelf(orm, body.id);
    t.equal((await send('PATCH', `/hooked/${body.id}`, { books: [{ id: ash!.id, title: 'Oak' }] })).status, 200);
    t.match(await shelf(orm, body.id), [{ title: 'Oak', tags: ['red'] }, { title: 'Added' }]);
  });

  t.test('a relation takes one look-up, however many children refer by it', async (t) => {
    const queries = recordQueries(orm);
    const many = Array.from({ length: 10 }, (_, index) => ({
      title: `${index}`,
      tags: ['red', 'blue'],
      chapters: [
        { heading: 'a', tags: ['red', 'green'] },
        { heading: 'b', tags: ['blue'] },
      ],
    }));
    t.equal((await send('POST', '/authors', { name: 'Ada', books: many })).status, 201);
    queries.stop();
    t.equal(queries.readsOf('tag').length, 2, 'of books, of chapters');
    t.ok(queries.texts.length < 15, queries.texts.join('\n'));
  });

  t.test('concurrent writes of children are applied completely or not at all', async (t) => {
    const { path, id, books } = await start();
    const bodies = Array.from({ length: 16 }, (_, index) => ({
      books: [
        { id: books[0], title: `t${index}` },
        { title: `n${index}`, isbn: `x${index % 2}` },
        { title: `m${index}` },
      ],
    }));
    const answers = await Promise.all(bodies.map((body) => send('PATCH', path, body)));
    t.ok(
      answers.every(({ status }) => status === 200),
      JSON.stringify(answers.filter(({ status }) => status !== 200)),
    );
    const left = await shelf(orm, id);
    t.equal(left.length, 3);
    const last = left[0]!.title.slice(1);
    t.same(
      left.map(({ title }) => title),
      [`t${last}`, `n${last}`, `m${last}`],
      'all three are of one request',
    );
  });

  t.test('the response contains records that a hook creates, flushed or not', async (t) => {
    for (const name of ['lazy', 'flushing']) {
      const { status, body } = await send('POST', '/with-book', { name });
      t.equal(status, 201);
      t.strictSame(body.books, ['First']);
      t.equal(await orm.em.fork().count(Book, { author: body.id }), 1, 'by the end of the transaction');
    }
  });

  t.test('mistakes of a programmer are found at start', async (t) => {
    t.throws(
      () => writeShape(Author, ['name'], { books: nested(chapter) as never }),
      /relation to Book.*shape is of Chapter/,
    );
    t.throws(() => writeShape(Author, ['name', 'books']), /books leads to many records.*nested/);
    t.throws(() => writeShape(Author, ['name'], { books: refs('books') }), /books leads to many records.*nested/);
    const keyed = writeShape(Book, ['id', 'title']);
    t.throws(
      () => writeShape(Author, ['name'], { books: nested(keyed, { update: true }) }),
      /with "update".*primary key "id" of Book/,
    );
    t.doesNotThrow(() => writeShape(Author, ['name'], { books: nested(keyed) }), 'a new child may choose its key');
    const Leaf = defineEntity({
      name: 'Leaf',
      properties: { id: p.integer().primary(), tree: () => p.manyToOne(Tree).mapToPk() },
    });
    const Tree = defineEntity({
      name: 'Tree',
      properties: { id: p.integer().primary(), leaves: () => p.oneToMany(Leaf).mappedBy('tree') },
    });
    t.throws(() => writeShape(Tree, [], { leaves: nested(writeShape(Leaf, ['id'])) }), /"tree" of Leaf has mapToPk/);
    // Such a child could say that another author is its parent.
    const moving = writeShape(Book, ['title', 'author']);
    t.throws(
      () => writeShape(Author, ['name'], { books: nested(moving) }),
      /"books" writes children of the record, so their shape may not write "author"/,
    );
    t.throws(() => nested(book, { max: 0 }), /"max" must be a whole number above 0/);
    t.throws(() => nested({} as never), /must be a writeShape/);
    t.throws(() => refs('tags', { maximum: 3 } as never), /unknown option "maximum"/);
    t.throws(() => refs(5 as never), /must be the path of a relation/);
  });
});

t.test('children that could not be stored fail at start, at every level', async (t) => {
  const orm = await openSqlite(t, { entities: SHELVES });
  const mount = (View: new () => never) => testApp(t, orm, [new Router().register('authors', View)]);
  const view = (books: typeof book) => {
    const write = writeShape(Author, ['name'], { books: nested(books) });
    return class AuthorViewSet extends ModelViewSet(Author, { read, write }) {} as never;
  };
  const untitled = writeShape(Book, ['isbn']) as unknown as typeof book;
  await t.rejects(mount(view(untitled)), { message: /^AuthorViewSet: a new Book cannot be stored without "title"/ });
  const noHeading = nested(writeShape(Chapter, [], { tags: refs('tags.name') }));
  const below = writeShape(Book, ['title', 'isbn'], { chapters: noHeading }) as unknown as typeof book;
  await t.rejects(mount(view(below)), { message: /^AuthorViewSet: a new Chapter cannot be stored without "heading"/ });
  class FillingViewSet extends ModelViewSet(Author, {
    read,
    write: writeShape(Author, ['name'], { books: nested(untitled) }),
  }) {
    override performCreate(request: FastifyRequest, data: WriteData<never, never>) {
      return super.performCreate(request, data);
    }
  }
  await t.resolves(mount(FillingViewSet as never), 'performCreate may fill it in');
});

/** The books of an author with all that is below them, hidden ones left out. */
async function shelf(orm: MikroORM, author: number) {
  const books = await orm.em.fork().find(Book, { author }, { populate: ['tags', 'chapters.tags'], orderBy: { id: 1 } });
  const names = (tags: { getItems(): { name: string }[] }) =>
    tags
      .getItems()
      .map(({ name }) => name)
      .toSorted();
  return books.map(({ id, title, isbn, tags, chapters }) => ({
    id,
    title,
    isbn,
    tags: names(tags),
    chapters: chapters
      .getItems()
      .toSorted((one, other) => one.id - other.id)
      .map((each) => ({ id: each.id, heading: each.heading, tags: names(each.tags) })),
  }));
}
