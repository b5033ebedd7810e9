import type { InferEntity } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { Type } from 'typebox';
import {
  action,
  getCurrentUser,
  ModelViewSet,
  nested,
  readShape,
  refs,
  Router,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { Book as LibraryBook, LIBRARY, Publisher, testApp } from '../../support/library.ts';
import { Author, Book, fillTags, SHELVES } from '../../support/shelves.ts';

const read = readShape(LibraryBook, ['id', 'title', 'pages', 'price', 'in_print', 'published_at'], {
  publisher: 'publisher.name',
});

class Ruled extends ModelViewSet(LibraryBook, {
  read,
  write: writeShape(LibraryBook, ['title', 'pages', 'price', 'published_at'], { publisher: 'publisher.name' }),
  validate: async (data, problems, request, record) => {
    await sleep(1);
    const pages = data.pages ?? record?.pages ?? 0;
    const price = data.price ?? record?.price ?? 0;
    if (price > pages) problems.add('/price', `must be at most ${pages}`);
    if (data.published_at instanceof Date && data.published_at.getFullYear() < 1900) {
      problems.add('/published_at', 'must be after 1900');
    }
    const writer = getCurrentUser(request)?.role?.name;
    if (writer !== undefined && data.title?.startsWith(writer) === true) problems.add('', 'names its writer');
    if (data.publisher === 'Odd') problems.add('/publisher', 'is odd');
  },
}) {
  ways = action({}, () => this.explain());
}

class Compared extends ModelViewSet(LibraryBook, {
  read,
  write: {
    create: writeShape(LibraryBook, ['title', 'pages', 'price', 'publisher']),
    update: writeShape(LibraryBook, ['title', 'pages', 'price']),
  },
  extra: Type.Object({ note: Type.Optional(Type.String()) }),
  bulk: 3,
  validate: (data, problems, _request, _record, after) => {
    seen.push(after);
    const { price, pages = 0 } = after;
    if (typeof price === 'number' && price > pages) problems.add('/price', `must be at most ${pages}`);
    if (price === null && pages > 0) problems.add('/pages', 'must be 0 without a price');
    // @ts-expect-error -- a relation is in `data` as it was sent, and in `record` as it is stored
    void after.publisher;
    void data.publisher;
  },
}) {}
const seen: unknown[] = [];

class TwoShapes extends ModelViewSet(LibraryBook, {
  read: readShape(LibraryBook, ['id', 'title', 'pages', 'price']),
  write: {
    create: writeShape(LibraryBook, ['title', 'pages']),
    update: writeShape(LibraryBook, ['price'], { publisher: 'publisher.name' }),
  },
}) {
  ways = action({}, () => this.explain());
}

class Filled extends ModelViewSet(LibraryBook, {
  read,
  write: writeShape(LibraryBook, ['title', 'pages', 'publisher']),
  fill: {
    pages: (request) => getCurrentUser(request)?.role?.name?.length ?? 0,
    publisher: async (request) => {
      const { id } = await request.em.findOneOrFail(Publisher, { name: 'South' });
      return id;
    },
  },
}) {
  ways = action({}, () => this.explain());
}

class WithExtra extends ModelViewSet(LibraryBook, {
  read,
  write: writeShape(LibraryBook, ['title', 'pages']),
  extra: Type.Object({ note: Type.String({ maxLength: 5 }), shout: Type.Optional(Type.Boolean({ default: false })) }),
  validate: (data, problems) => {
    if (data.note !== undefined && data.note === data.title) problems.add('/note', 'must not be the title');
  },
}) {
  override performCreate(request: FastifyRequest, data: { title: string }, extra: { note: string; shout?: boolean }) {
    const title = `${data.title} (${extra.note})`;
    return super.performCreate(request, { ...data, title: extra.shout === true ? title.toUpperCase() : title });
  }
  override performUpdate(
    request: FastifyRequest,
    book: InferEntity<typeof LibraryBook>,
    data: { title?: string },
    extra: { note?: string },
  ) {
    return super.performUpdate(request, book, extra.note === undefined ? data : { ...data, title: extra.note });
  }
}

class CustomCreate extends ModelViewSet(LibraryBook, {
  read,
  write: writeShape(LibraryBook, ['title', 'pages']),
  validate: (_data, problems) => problems.add('/pages', 'never fit'),
}) {
  override async create(request: FastifyRequest): Promise<never> {
    throw new Error(`reached with ${JSON.stringify(request.body)}`);
  }
}

forEachDatabase(t, { entities: LIBRARY }, async (t, orm) => {
  const app = await testApp(t, orm, [
    new Router()
      .register('ruled', Ruled)
      .register('two', TwoShapes)
      .register('compared', Compared)
      .register('filled', Filled)
      .register('extra', WithExtra)
      .register('own', CustomCreate) as Router,
  ]);
  const send = async (method: 'POST' | 'PUT' | 'PATCH', url: string, payload: object, user?: string) => {
    const response = await app.inject({ method, url, payload, ...(user && { headers: { 'x-user': user } }) });
    return { status: response.statusCode, body: response.json() };
  };
  const placesOf = ({ status, body }: { status: number; body: { details?: { path: string }[] } }) => [
    status,
    ...(body.details ?? []).map(({ path }) => path),
  ];
  t.beforeEach(async () => {
    await orm.schema.clear();
    const em = orm.em.fork();
    em.create(Publisher, { name: 'North' });
    em.create(Publisher, { name: 'South' });
    await em.flush();
  });

  t.test('rules see the record as it would be after the write', async (t) => {
    const after = async (...args: Parameters<typeof send>) => {
      seen.length = 0;
      return [placesOf(await send(...args)), ...seen];
    };
    const made = await send('POST', '/compared', { title: 'a', pages: 10, price: 5, publisher: null });
    t.equal(made.status, 201, JSON.stringify(made.body));
    const { id } = made.body;
    t.strictSame(await after('POST', '/compared', { title: 'b', price: 5 }), [
      [400, '/price'],
      { title: 'b', pages: undefined, price: 5 },
    ]);
    const url = `/compared/${id}`;
    t.strictSame(await after('PATCH', url, { pages: 3 }), [[400, '/price'], { title: 'a', pages: 3, price: 5 }]);
    t.strictSame(await after('PATCH', url, { price: null }), [[400, '/pages'], { title: 'a', pages: 10, price: null }]);
    t.strictSame(
      await after('PATCH', url, { pages: 'x', price: 11 }),
      [[400, '/pages', '/price'], { title: 'a', price: 11 }],
      'of a field with a fault nothing is known',
    );
    t.strictSame(await after('PUT', url, { title: 'c', note: 'x' }), [[200], { title: 'c', pages: 10, price: 5 }]);
    t.strictSame(await after('PATCH', '/compared', [{ id, price: null, pages: 0 }]), [
      [200],
      { title: 'c', pages: 0, price: null },
    ]);
  });

  t.test('errors of rules over several fields are returned with all other errors of a body', async (t) => {
    const book = { title: 'Ash', pages: 5, price: 3 };
    const created = await send('POST', '/ruled', book);
    t.equal(created.status, 201, JSON.stringify(created.body));
    const url = `/ruled/${created.body.id}`;
    t.same(placesOf(await send('POST', '/ruled', { ...book, price: 9 })), [400, '/price']);
    t.same(placesOf(await send('POST', '/ruled', { pages: 2, price: 9 })), [400, '/title', '/price']);
    t.same(
      placesOf(await send('POST', '/ruled', { title: '', pages: 'x', price: 9, published_at: '1800-01-01T00:00:00Z' })),
      [400, '/title', '/pages', '/price', '/published_at'],
    );
    t.same(placesOf(await send('POST', '/ruled', book, 'Ash')), [400, '']);
    t.same(placesOf(await send('PATCH', url, { price: 6 })), [400, '/price'], 'against what is stored');
    t.equal((await send('PATCH', url, { price: 6, pages: 6 })).status, 200);
    t.same(placesOf(await send('PATCH', url, { pages: 1 })), [400, '/price'], 'a rule may name what was not sent');
    t.same(placesOf(await send('PUT', url, { pages: 1, price: 2 })), [400, '/title', '/price']);
    t.same(
      placesOf(await send('PATCH', '/ruled/999999', { pages: 'x' })),
      [400, '/pages'],
      'a body is judged before the record',
    );
    t.same(placesOf(await send('PATCH', '/ruled/999999', { pages: 1 })), [404]);
    t.same(placesOf(await send('POST', '/ruled', { ...book, publisher: 'Odd' })), [400, '/publisher']);
    t.same(placesOf(await send('POST', '/ruled', { ...book, publisher: 'None' })), [400, '/publisher']);
    for (const wrong of [
      null,
      [],
      5,
      'x',
      { title: { a: 1 } },
      { price: [1] },
      { title: null, pages: null, price: null },
    ]) {
      t.equal(
        (
          await app.inject({
            method: 'POST',
            url: '/ruled',
            headers: { 'content-type': 'application/json' },
            payload: JSON.stringify(wrong),
          })
        ).statusCode,
        400,
      );
    }
    t.equal(await orm.em.fork().count(LibraryBook), 1);
  });

  t.test('a rule checks a record that no other request changes meanwhile', async (t) => {
    const { body } = await send('POST', '/ruled', { title: 'Ash', pages: 10, price: 0 });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        send('PATCH', `/ruled/${body.id}`, index % 2 === 0 ? { pages: index } : { price: index }),
      ),
    );
    t.ok(
      answers.every(({ status }) => status === 200 || status === 400),
      JSON.stringify(answers),
    );
    const left = await orm.em.fork().findOneOrFail(LibraryBook, body.id);
    t.ok((left.price ?? 0) <= left.pages, `${left.price} of ${left.pages}`);
  });

  t.test('a view with an overridden operation does not receive an invalid body', async (t) => {
    t.same(placesOf(await send('POST', '/own', { pages: 'x' })), [400, '/title', '/pages']);
    t.equal((await send('POST', '/own', { title: 'x' })).status, 500);
  });

  t.test('create and update can have different shapes', async (t) => {
    const { status, body } = await send('POST', '/two', { title: 'Ash', pages: 3, price: 5, publisher: 'North' });
    t.equal(status, 201, JSON.stringify(body));
    t.match(body, { title: 'Ash', pages: 3, price: null });
    const changed = await send('PUT', `/two/${body.id}`, { title: 'Elm', pages: 9, price: 5, publisher: 'North' });
    t.match(changed.body, { title: 'Ash', pages: 3, price: 5 });
    t.equal((await send('PATCH', `/two/${body.id}`, { publisher: null })).status, 200);
    t.same(placesOf(await send('POST', '/two', { price: 3 })), [400, '/title']);
    const ways = (await app.inject('/two/ways')).json();
    t.equal(ways.create.oneStatement, true, 'the other shape keeps nothing from being one statement');
    t.ok(ways.update.reasons.some((reason: string) => reason.includes('"publisher"')));
  });

  t.test('values that the view fills override those of the body', async (t) => {
    const south = await orm.em.fork().findOneOrFail(Publisher, { name: 'South' });
    const { status, body } = await send('POST', '/filled', { title: 'Ash', pages: 99, publisher: south.id - 1 }, 'Ada');
    t.equal(status, 201, JSON.stringify(body));
    t.match(body, { title: 'Ash', pages: 3, publisher: 'South' });
    t.match((await send('PATCH', `/filled/${body.id}`, { pages: 99, publisher: null })).body, {
      pages: 3,
      publisher: 'South',
    });
    t.match((await app.inject('/filled/ways')).json().create.reasons, [
      'the view fills "pages"',
      'the view fills "publisher"',
    ]);
    t.same((await app.inject('/ruled/ways')).json().update.reasons.slice(0, 1), ['the view has rules: validate']);
  });

  t.test('input that the entity has not reaches the hooks', async (t) => {
    const { status, body } = await send('POST', '/extra', { title: 'Ash', note: 'new', shout: true });
    t.equal(status, 201, JSON.stringify(body));
    t.equal(body.title, 'ASH (NEW)');
    t.equal((await send('POST', '/extra', { title: 'Elm', note: 'old' })).body.title, 'Elm (old)');
    t.same(placesOf(await send('POST', '/extra', { title: '', note: 'too long' })), [400, '/title', '/note']);
    t.same(placesOf(await send('POST', '/extra', { title: 'Ash' })), [400, '/note']);
    t.same(placesOf(await send('POST', '/extra', { title: 'Ash', note: 'Ash' })), [400, '/note']);
    t.equal((await send('PATCH', `/extra/${body.id}`, { note: 'late' })).body.title, 'late');
    t.equal((await send('PATCH', `/extra/${body.id}`, {})).body.title, 'late');
    t.equal((await send('PUT', `/extra/${body.id}`, { title: 'x' })).status, 400);
  });

  t.test('mistakes of a programmer are found at start', async (t) => {
    const write = writeShape(LibraryBook, ['title']);
    const starts = (options: object, message: RegExp) =>
      t.rejects(
        async () => {
          class View extends ModelViewSet(LibraryBook, { read, write, ...options }) {}
          await testApp(t, orm, [new Router().register('books', View)]);
        },
        { name: 'ImproperlyConfigured', message },
      );
    await starts({ fill: { pagse: () => 1 } }, /fill "pagse": .*did you mean "pages"/);
    await starts({ fill: { pages: 1 } }, /"fill" must be functions by field/);
    await starts(
      { extra: Type.Object({ title: Type.String() }) },
      /"extra" names "title", which is a property of Book/,
    );
    await starts({ extra: Type.String() }, /"extra" must be a Type\.Object/);
    await starts({ validate: true }, /"validate" must be a function/);
    await starts({ write: { create: write } }, /"write" needs a shape of the name "default", or one for update/);
  });
});

forEachDatabase(t, { entities: SHELVES }, async (t, orm) => {
  const book = writeShape(Book, ['title'], { tags: refs('tags.name') });
  class Authors extends ModelViewSet(Author, {
    read: readShape(Author, ['id', 'name']),
    write: { create: writeShape(Author, ['name'], { books: nested(book) }), update: writeShape(Author, ['name']) },
    validate: (data, problems) => {
      for (const [index, { title }] of (data.books ?? []).entries()) {
        if (title === data.name) problems.add(`/books/${index}/title`, 'must not be the name');
      }
    },
  }) {}

  t.test('rules see children, and name their places', async (t) => {
    await fillTags(orm);
    const app = await testApp(t, orm, [new Router().register('authors', Authors)]);
    const answer = await app.inject({
      method: 'POST',
      url: '/authors',
      payload: { name: 'Ada', books: [{ title: 'Ash' }, { title: 'Ada', tags: ['red'] }] },
    });
    t.same(answer.json().details, [{ in: 'body', path: '/books/1/title', message: 'must not be the name' }]);
  });

  t.test('rules receive the children of a new record even if its other fields are invalid', async (t) => {
    const seen: unknown[] = [];
    const rules = (data: { readonly books?: unknown }) => void seen.push(data);
    const read = readShape(Author, ['id', 'name']);
    const both = writeShape(Author, ['name'], { books: nested(book, { update: true }) });
    class OnCreate extends ModelViewSet(Author, {
      read,
      write: writeShape(Author, ['name'], { books: nested(book) }),
      validate: rules,
    }) {}
    class OnUpdate extends ModelViewSet(Author, { read, write: both, validate: rules }) {}
    const app = await testApp(t, orm, [new Router().register('made', OnCreate).register('changed', OnUpdate)]);
    for (const url of ['/made', '/changed']) {
      seen.length = 0;
      const payload = { name: 5, books: [{ id: 7, title: 'Ash', other: 1 }, { title: 'Elm' }] };
      const answer = await app.inject({ method: 'POST', url, payload });
      t.same(answer.json().details, [{ in: 'body', path: '/name', message: 'must be a string' }], url);
      t.strictSame(seen, [{ books: [{ title: 'Ash' }, { title: 'Elm' }] }], url);
    }
  });
});
