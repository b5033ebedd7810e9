import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import {
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

type TagRecord = InferEntity<typeof Tag>;

const read = readShape(Tag, ['id', 'name', 'owner']);
const write = writeShape(Tag, ['name', 'owner']);

class Tags extends ModelViewSet(Tag, { read, write, bulk: 5 }) {}
class PlainTags extends ModelViewSet(Tag, { read, write }) {}
class CreatedTags extends ModelViewSet(Tag, { read, write, bulk: { create: 2 } }) {}
class NamedTags extends ModelViewSet(Tag, { read, write, bulk: 5, lookupField: 'name' }) {}
class KeyedTags extends ModelViewSet(Tag, { read, write: writeShape(Tag, ['id', 'name', 'owner']), bulk: 5 }) {}
class SelectedTags extends ModelViewSet(Tag, { read, write, bulk: 5, fields: true }) {}

class UserTags extends Permission {
  override scope(request: FastifyRequest, view: PermissionView) {
    return this.records<TagRecord>(view, { owner: getCurrentUser(request)?.role?.name ?? '' });
  }
}
class NotBlue extends Permission {
  override hasObjectPermission(_request: FastifyRequest, _view: PermissionView, tag: object) {
    return (tag as TagRecord).name !== 'blue';
  }
}
class UserTagViewSet extends ModelViewSet(Tag, { read, write, bulk: 5, permissionClasses: [UserTags] }) {}
class GuardedTags extends ModelViewSet(Tag, { read, write, bulk: 5, permissionClasses: [NotBlue] }) {}

class HookedTags extends ModelViewSet(Tag, {
  read,
  write,
  bulk: 5,
  validate: (data, problems, _request, record) => {
    if (data.name !== undefined && data.name === (data.owner ?? record?.owner)) problems.add('/name', 'is its owner');
  },
}) {
  override performCreate(request: FastifyRequest, data: { name: string }) {
    return super.performCreate(request, { ...data, name: `${data.name}+` });
  }
  override performUpdate(request: FastifyRequest, tag: TagRecord, data: { name?: string }) {
    return super.performUpdate(request, tag, { ...data, owner: 'hook' });
  }
  override async performDestroy(request: FastifyRequest, tag: TagRecord) {
    tag.secret = true;
    await request.em.flush();
  }
}

/** Records by a code, with another unique field beside it. */
const Part = defineEntity({
  name: 'Part',
  properties: {
    id: p.integer().primary(),
    code: p.string().length(5).unique(),
    bin: p.string().length(5).unique().nullable(),
    parts: () => p.oneToMany(Part).mappedBy('whole'),
    whole: () => p.manyToOne(Part).nullable(),
  },
});
class Parts extends ModelViewSet(Part, {
  read: readShape(Part, ['code', 'bin']),
  write: writeShape(Part, ['code', 'bin'], {
    parts: nested(writeShape(Part, ['code', 'bin']), { update: true }),
  }),
  bulk: 5,
  lookupField: 'code',
}) {}

const book = writeShape(Book, ['title', 'isbn'], { tags: refs('tags.name') });
class Authors extends ModelViewSet(Author, {
  read: readShape(Author, ['id', 'name'], {
    books: many(readShape(Book, ['id', 'title'], { tags: many('tags.name') })),
  }),
  write: writeShape(Author, ['name'], { books: nested(book, { update: true }) }),
  bulk: 5,
}) {}

forEachDatabase(t, { entities: [...SHELVES, Part] }, async (t, orm) => {
  const app = await testApp(t, orm, [
    new Router()
      .register('tags', Tags)
      .register('plain', PlainTags)
      .register('created', CreatedTags)
      .register('named', NamedTags)
      .register('keyed', KeyedTags)
      .register('parts', Parts)
      .register('selected', SelectedTags)
      .register('own', UserTagViewSet)
      .register('guarded', GuardedTags)
      .register('hooked', HookedTags)
      .register('authors', Authors) as Router,
  ]);
  type Method = 'POST' | 'PATCH' | 'DELETE' | 'PUT';
  const send = async (method: Method, url: string, payload?: unknown, user?: string) => {
    const response = await app.inject({
      method,
      url,
      ...(payload === undefined ? {} : { payload: JSON.stringify(payload) }),
      headers: {
        ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
        ...(user === undefined ? {} : { 'x-user': user }),
      },
    });
    return {
      status: response.statusCode,
      body: response.body === '' ? undefined : response.json(),
      headers: response.headers,
    };
  };
  const placesOf = ({ status, body }: { status: number; body: { details?: { path: string }[] } }) => [
    status,
    ...(body.details ?? []).map(({ path }) => path),
  ];
  const names = async () =>
    (await orm.em.fork().findAll(Tag, { orderBy: { id: 1 }, filters: false })).map(({ name }) => name);
  t.beforeEach(() => fillTags(orm));

  t.test('the lists of a body are bounded together: lists within lists do not multiply', async (t) => {
    const books = (count: number, tags: number) =>
      Array.from({ length: count }, (_, index) => ({ title: `book ${index}`, tags: Array(tags).fill('nobody') }));
    const refused = [400, { details: [{ in: 'body', path: '' }], error: /at most 1000 related records/ }] as const;
    const few = [400, { details: [{ path: /tags/ }] }] as const;
    for (const [method, url] of [
      ['POST', '/authors'],
      ['PATCH', '/authors/1'],
      ['PUT', '/authors/1'],
    ] as const) {
      const answer = await send(method, url, { name: 'Many', books: books(100, 10) });
      t.match([answer.status, answer.body], refused, `${method} of one record`);
    }
    const allowed = await send('POST', '/authors', { name: 'Many', books: books(90, 10) });
    t.match([allowed.status, allowed.body], few, 'as many as one list may have are looked up');
    const bulk = (count: number) =>
      Array.from({ length: 5 }, (_, index) => ({ name: `Author ${index}`, books: books(count, 3) }));
    for (const url of ['/authors', '/authors.bulk']) {
      const answer = await send('POST', url, bulk(60));
      t.match([answer.status, answer.body], refused, `POST ${url} of several`);
    }
    const changes = bulk(60).map((author, index) => ({ id: index + 1, ...author }));
    const changed = await send('PATCH', '/authors', changes);
    t.match([changed.status, changed.body], refused, 'PATCH of several');
    t.match((await send('POST', '/authors', bulk(40))).body, few[1]);
    t.equal(await orm.em.fork().count(Book), 0);
  });

  t.test('POST of an array creates all records and returns them in the same order', async (t) => {
    const queries = recordQueries(orm);
    const { status, body, headers } = await send('POST', '/tags', [
      { name: 'c', owner: 'Ada' },
      { name: 'a' },
      { name: 'b' },
    ]);
    queries.stop();
    t.equal(status, 201, JSON.stringify(body));
    t.match(body, [{ name: 'c', owner: 'Ada' }, { name: 'a', owner: null }, { name: 'b' }]);
    t.equal(headers['location'], undefined);
    t.equal(queries.inserts().length, 1, queries.texts.join('\n'));
    t.equal((await send('POST', '/tags', { name: 'one' })).body.name, 'one');
    t.same((await send('POST', '/tags', [])).body, []);
  });

  t.test('the .bulk path creates the same records and accepts only arrays', async (t) => {
    const { status, body, headers } = await send('POST', '/tags.bulk', [{ name: 'c' }, { name: 'a' }]);
    t.equal(status, 201, JSON.stringify(body));
    t.match(body, [{ name: 'c' }, { name: 'a' }]);
    t.equal(headers['location'], undefined);
    t.strictSame(placesOf(await send('POST', '/tags.bulk', { name: 'one' })), [400, '']);
    t.strictSame(placesOf(await send('POST', '/tags.bulk', [{ name: 'd' }, {}])), [400, '/1/name']);
    t.match(await send('POST', '/own.bulk', [{ name: 'x', owner: 'Ada' }]), { status: 401 }, 'permissions are asked');
    t.equal((await send('POST', '/plain.bulk', [])).status, 404, 'a view without bulk');
    t.match(await send('PATCH', '/tags.bulk', []), { status: 405, headers: { allow: 'POST, OPTIONS' } });
    t.match(await send('POST', '/selected.bulk?fields=name', [{ name: 'e' }]), { status: 201, body: [{ name: 'e' }] });
    t.equal((await send('POST', '/named', { name: 'bulk' })).status, 201);
    t.equal((await app.inject('/named/bulk')).statusCode, 200, 'no key of a record is taken');
  });

  t.test('POST of an array stores all records or none, and details name the invalid ones', async (t) => {
    t.same(placesOf(await send('POST', '/tags', [{ name: 'a' }, { name: 5 }, {}, null, 'x'])), [
      400,
      '/1/name',
      '/2/name',
      '/3',
      '/4',
    ]);
    t.same(placesOf(await send('POST', '/tags', [{ name: 'a' }, { name: 'red' }, { name: 'c' }])), [409, '/1/name']);
    t.same(placesOf(await send('POST', '/tags', [{ name: 'a' }, { name: 'a' }])), [409, '/1/name']);
    t.same(
      placesOf(
        await send('PATCH', '/tags', [
          { id: 101, name: 'x' },
          { id: 102, name: 'green' },
        ]),
      ),
      [409, '/1/name'],
    );
    t.same(
      placesOf(
        await send('PATCH', '/tags', [{ id: 101, name: 5 }, { name: 'x' }, { id: 'x' }, { id: 101 }, { id: null }]),
      ),
      [400, '/0/name', '/1/id', '/2/id', '/3/id', '/4/id'],
    );
    t.same(await names(), ['red', 'blue', 'green', 'black']);
  });

  t.test('PATCH of an array changes every record and returns them in the same order', async (t) => {
    const { status, body } = await send('PATCH', '/tags', [
      { id: 103, name: 'lime' },
      { id: 101, owner: null },
      { id: 102 },
    ]);
    t.equal(status, 200, JSON.stringify(body));
    t.match(body, [
      { id: 103, name: 'lime' },
      { id: 101, name: 'red', owner: null },
      { id: 102, name: 'blue' },
    ]);
    t.same(await names(), ['red', 'blue', 'lime', 'black']);
    const named = await send('PATCH', '/named', [{ name: 'lime', owner: 'Cy' }]);
    t.match(named.body, [{ id: 103, name: 'lime', owner: 'Cy' }]);
    t.same(placesOf(await send('PATCH', '/tags', [{ id: 101, name: 'x' }, { id: 999 }, { id: 104 }])), [
      404,
      '/1/id',
      '/2/id',
    ]);
    t.same(await names(), ['red', 'blue', 'lime', 'black']);
  });

  t.test('a key of the wrong type is reported once, even if the shape checks it too', async (t) => {
    t.same(placesOf(await send('PATCH', '/keyed', [{ id: 'x', name: 5 }, { id: 101 }])), [400, '/0/id', '/0/name']);
    t.same(placesOf(await send('PATCH', '/named', [{ name: 5 }, { name: 'red' }])), [400, '/0/name']);
  });

  t.test('a key with a NUL or a lone surrogate is rejected', async (t) => {
    for (const key of ['a\0b', '\0', 'a\ud800']) {
      const changed = await send('PATCH', '/named', [{ name: key, owner: 'Ada' }]);
      t.same(placesOf(changed), [400, '/0/name'], JSON.stringify(key));
      t.equal((await send('DELETE', `/named?pk=${encodeURIComponent(key.toWellFormed())}`)).status, 404);
    }
  });

  t.test('a conflict does not name records whose values stay the same', async (t) => {
    await orm.em.fork().insertMany(Part, [
      { id: 11, code: 'a', bin: '1' },
      { id: 12, code: 'b', bin: '2' },
      { id: 13, code: 'c', bin: '3' },
    ]);
    const several = await send('PATCH', '/parts', [
      { code: 'a', bin: '1' },
      { code: 'b', bin: '3' },
    ]);
    t.same(placesOf(several), [409, '/1/bin']);
    const one = await send('PATCH', '/parts/a', { bin: '1', parts: [{ code: 'd' }, { code: 'e', bin: '3' }] });
    t.same(placesOf(one), [409, '/parts/1/bin']);
    t.same(
      placesOf(await send('POST', '/tags', [{ name: 'a' }, { name: 'black' }])),
      [409, '/1/name'],
      'hidden, yet taken',
    );
  });

  t.test('a client selects the fields of the response, for new and for changed records', async (t) => {
    const made = await send('POST', '/selected?fields=name', [{ name: 'a', owner: 'Ada' }, { name: 'b' }]);
    t.same(made.body, [{ name: 'a' }, { name: 'b' }]);
    const changed = await send('PATCH', '/selected?fields=owner,id', [{ id: 101, owner: 'Cy' }, { id: 102 }]);
    t.same(changed.body[0], { id: 101, owner: 'Cy' }, JSON.stringify(changed.body));
    t.strictSame(Object.keys(changed.body[1]), ['id', 'owner']);
    t.equal((await send('PATCH', '/selected', [{ id: 101 }])).body[0].name, 'red');
    const refused = await send('PATCH', '/selected?fields=nam', [{ id: 101, name: 'x' }]);
    t.same(placesOf(refused), [400, '/fields']);
    t.equal((await send('DELETE', '/selected?pk=101&fields=id')).status, 400);
  });

  t.test('a DELETE of several keys deletes each', async (t) => {
    const absent = await send('DELETE', '/tags?pk=101,999,x,104');
    t.equal(absent.status, 404);
    t.match(absent.body.error, /x/);
    const gone = await send('DELETE', '/tags?pk=101,999,104');
    t.equal(gone.status, 404);
    t.match(gone.body.error, /999, 104/);
    t.equal((await send('DELETE', '/tags?pk=101,103')).status, 204);
    t.same(await names(), ['blue', 'black']);
    for (const query of ['', '?pk=', '?pk=102,102', '?pk=1,2,3,4,5,6', '?pk=102&x=1', '?pk=102,', '?pk=,102']) {
      t.equal((await send('DELETE', `/tags${query}`)).status, 400, query);
    }
    t.equal((await send('DELETE', '/named?pk=blue')).status, 204);
  });

  t.test('more records than the maximum return 400; without the option arrays are rejected', async (t) => {
    const six = Array.from({ length: 6 }, (_, index) => ({ id: index, name: `n${index}` }));
    t.same(placesOf(await send('POST', '/tags', six)), [400, '']);
    t.same(placesOf(await send('PATCH', '/tags', six)), [400, '']);
    t.equal((await send('POST', '/created', six.slice(0, 2))).status, 201);
    t.equal((await send('POST', '/created', six.slice(2, 5))).status, 400);
    t.equal((await send('POST', '/plain', six)).status, 400);
    for (const path of ['/plain', '/created']) {
      t.equal((await send('PATCH', path, six)).status, 405, path);
      t.equal((await send('DELETE', `${path}?pk=101`)).status, 405, path);
    }
    t.equal((await send('PUT', '/tags', six)).status, 405);
    for (const wrong of [{}, null, 'x', 5]) t.equal((await send('PATCH', '/tags', wrong)).status, 400);
    t.equal(
      (
        await send(
          'POST',
          '/tags',
          Array.from({ length: 200_000 }, () => 0),
        )
      ).status,
      400,
    );
    t.equal((await send('PATCH', '/tags', [[[[[]]]], { __proto__: { id: 101 } }])).status, 400);
  });

  t.test('scopes and object permissions are checked for every record', async (t) => {
    t.same(placesOf(await send('PATCH', '/own', [{ id: 101 }, { id: 103, name: 'x' }], 'Ada')), [404, '/1/id']);
    t.equal((await send('DELETE', '/own?pk=101,103', undefined, 'Ada')).status, 404);
    t.equal(
      (
        await send(
          'POST',
          '/own',
          [
            { name: 'x', owner: 'Ada' },
            { name: 'y', owner: 'Bob' },
          ],
          'Ada',
        )
      ).status,
      403,
    );
    t.equal((await send('PATCH', '/own', [{ id: 101, owner: 'Bob' }, { id: 102 }], 'Ada')).status, 403);
    t.equal((await send('PATCH', '/guarded', [{ id: 101 }, { id: 102, name: 'x' }], 'Ada')).status, 403);
    t.equal((await send('DELETE', '/guarded?pk=101,102', undefined, 'Ada')).status, 403);
    t.same(await names(), ['red', 'blue', 'green', 'black']);
    t.equal(
      (
        await send(
          'PATCH',
          '/own',
          [
            { id: 101, name: 'rose' },
            { id: 102, name: 'sky' },
          ],
          'Ada',
        )
      ).status,
      200,
    );
    t.equal((await send('DELETE', '/guarded?pk=101,103', undefined, 'Ada')).status, 204);
  });

  t.test('hooks and rules run for every record', async (t) => {
    t.match((await send('POST', '/hooked', [{ name: 'a' }, { name: 'b' }])).body, [{ name: 'a+' }, { name: 'b+' }]);
    t.same(
      placesOf(await send('POST', '/hooked', [{ name: 'c', owner: 'c' }, { name: 5 }, { name: 'd', owner: 'd' }])),
      [400, '/0/name', '/1/name', '/2/name'],
    );
    t.same(
      placesOf(
        await send('PATCH', '/hooked', [
          { id: 101, name: 'Ada' },
          { id: 102, owner: 5 },
        ]),
      ),
      [400, '/0/name', '/1/owner'],
    );
    t.same(
      placesOf(
        await send('PATCH', '/hooked', [
          { id: 101, name: 'Ada' },
          { id: 999, owner: 5 },
        ]),
      ),
      [400, '/1/owner'],
    );
    t.match((await send('PATCH', '/hooked', [{ id: 101, name: 'x' }, { id: 102 }])).body, [
      { name: 'x', owner: 'hook' },
      { name: 'blue', owner: 'hook' },
    ]);
    t.equal((await send('DELETE', '/hooked?pk=101,103')).status, 204);
    t.equal((await orm.em.fork().findOneOrFail(Tag, 101, { filters: false })).secret, true);
  });

  t.test('references and children of all records are found at once', async (t) => {
    const queries = recordQueries(orm);
    const { status, body } = await send('POST', '/authors', [
      {
        name: 'Ada',
        books: [
          { title: 'Ash', tags: ['red'] },
          { title: 'Birch', isbn: '1' },
        ],
      },
      { name: 'Bob', books: [{ title: 'Elm', tags: ['blue', 'red'] }] },
    ]);
    queries.stop();
    t.equal(status, 201, JSON.stringify(body));
    t.match(body, [
      {
        name: 'Ada',
        books: [
          { title: 'Ash', tags: ['red'] },
          { title: 'Birch', tags: [] },
        ],
      },
      { name: 'Bob', books: [{ title: 'Elm' }] },
    ]);
    t.equal(queries.readsOf('tag').length, 1);
    const [ada, bob] = body;
    t.same(
      placesOf(
        await send('PATCH', '/authors', [
          { id: ada.id, books: [{ id: bob.books[0].id }] },
          { id: bob.id, books: [{ title: 'x', tags: ['none'] }] },
        ]),
      ),
      [400, '/0/books/0/id', '/1/books/0/tags/0'],
    );
    const changed = await send('PATCH', '/authors', [
      { id: bob.id, books: [{ id: bob.books[0].id, title: 'Oak' }] },
      { id: ada.id, books: [] },
    ]);
    t.match(changed.body, [
      { name: 'Bob', books: [{ title: 'Oak' }] },
      { name: 'Ada', books: [] },
    ]);
    t.same(
      placesOf(
        await send('POST', '/authors', [
          { name: 'C', books: [{ title: 'y', isbn: '5' }] },
          { name: 'D', books: [{ title: 'z', isbn: '5' }] },
        ]),
      ),
      [409, '/1/books/0/isbn'],
    );
  });

  t.test('clients that change the same records concurrently neither deadlock nor fail', async (t) => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => {
        const ids = index % 2 === 0 ? [101, 102, 103] : [103, 102, 101];
        return send(
          'PATCH',
          '/tags',
          ids.map((id) => ({ id, owner: `o${index}` })),
        );
      }),
    );
    t.ok(
      answers.every(({ status }) => status === 200),
      JSON.stringify(answers.find(({ status }) => status !== 200)),
    );
    const owners = new Set((await orm.em.fork().find(Tag, { id: [101, 102, 103] })).map(({ owner }) => owner));
    t.equal(owners.size, 1, 'all three are of one request');
  });

  t.test('mistakes of a programmer are found at start', async (t) => {
    const starts = (View: new () => object, message: RegExp) =>
      t.rejects(testApp(t, orm, [new Router().register('tags', View as never)]), {
        name: 'ImproperlyConfigured',
        message,
      });
    await starts(
      class extends ModelViewSet(Tag, { read, write, bulk: { update: 0 } }) {},
      /"update" must be a whole number above 0/,
    );
    await starts(
      class extends ModelViewSet(Tag, { read, write, bulk: { updat: 5 } as never }) {},
      /unknown option "updat"/,
    );
    await starts(
      class extends ModelViewSet(Tag, { read, bulk: { create: 5 } }) {},
      /"create" is no operation of the view/,
    );
    await starts(
      class extends ModelViewSet(Tag, { read, write, bulk: 5, requireIfMatch: true }) {},
      /no If-Match, which the view requires/,
    );
    class CustomTags extends Tags {
      override getObject(): never {
        throw new Error('not asked');
      }
    }
    await starts(CustomTags, /overrides getObject.*override updateMany too/);
    await starts(
      class extends ModelViewSet(Tag, { read, write, bulk: 'all' as never }) {},
      /"bulk" must be a whole number above 0, or an object such as \{ create: 100 \}/,
    );
  });
});
