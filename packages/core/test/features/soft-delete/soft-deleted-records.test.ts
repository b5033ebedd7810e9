/** The option `softDelete`: a view marks its records when it deletes them, and has them no more. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest, InjectOptions } from 'fastify';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import {
  eventsFeature,
  action,
  AllowAny,
  file,
  type FileStore,
  FileType,
  IsAuthenticated,
  IsRoleAdminUser,
  many,
  ModelViewSet,
  Permission,
  type PermissionView,
  QuerySet,
  readShape,
  type RecordWrite,
  refs,
  Router,
  type ViewSet,
  writeShape,
} from '../../../src/index.ts';
import { recordQueries } from '../../query/record-queries.ts';
import { forEachDatabase, openSqlite } from '../../support/databases.ts';
import { errorAtStart, testApp } from '../../support/library.ts';

const Shelf = defineEntity({
  name: 'Shelf',
  properties: { id: p.integer().primary(), name: p.string().length(20), gone_at: p.datetime().nullable() },
});
const Page = defineEntity({
  name: 'Page',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(20),
    owner: p.string().length(20).default('ada'),
    words: p.integer().default(0),
    shelf: () => p.manyToOne(Shelf).nullable(),
    deleted_at: p.datetime().length(3).nullable(),
    day: p.date().nullable(),
  },
});
const Link = defineEntity({
  name: 'Link',
  properties: {
    id: p.integer().primary(),
    page: () => p.manyToOne(Page).nullable(),
    pages: () => p.manyToMany(Page),
  },
});
const Slip = defineEntity({
  name: 'Slip',
  properties: {
    id: p.integer().primary(),
    text: p.string().length(20),
    revision: p.integer().version(),
    deleted_at: p.datetime().length(3).nullable(),
  },
});
const Stamp = defineEntity({ name: 'Stamp', properties: { id: p.integer().primary(), made_at: p.datetime() } });
const Scan = defineEntity({
  name: 'Scan',
  properties: {
    id: p.integer().primary(),
    image: p.type(FileType).nullable(),
    deleted_at: p.datetime().length(3).nullable(),
  },
});
type PageRecord = InferEntity<typeof Page>;

const read = readShape(Page, ['id', 'title']);
const write = writeShape(Page, ['title', 'words']);
const declared = { read, write, softDelete: 'deleted_at' } as const;

class IsPageOwner extends Permission {
  override hasObjectPermission(request: FastifyRequest, _view: PermissionView, page: object) {
    const user = request.user as { role: { name: string } } | null;
    return request.method === 'GET' || (page as PageRecord).owner === user?.role.name;
  }
}

class OwnedByUser extends Permission {
  override scope(request: FastifyRequest, view: PermissionView) {
    const user = request.user as { role: { name: string } } | null;
    return this.records<PageRecord>(view, { owner: user?.role.name ?? 'nobody' });
  }
}

forEachDatabase(t, { entities: [Shelf, Page, Link, Slip, Scan] }, async (t, orm, database) => {
  const start = async (t: Test, ...routers: Router[]) => {
    await orm.schema.clear();
    const app = await testApp(t, orm, routers);
    return async (
      method: InjectOptions['method'] & string,
      url: string,
      payload?: object,
      user?: string,
      others = {},
    ) => {
      const headers: Record<string, string> = { ...others, ...(user !== undefined && { 'x-user': user }) };
      const answer = await app.inject({ method: method as 'GET', url, headers, ...(payload && { payload }) });
      return { status: answer.statusCode, body: answer.body === '' ? undefined : answer.json(), answer };
    };
  };
  const stored = () => orm.em.fork().findAll(Page, { orderBy: { id: 'asc' } });
  const make = async (data: object) => {
    const em = orm.em.fork();
    const page = em.create(Page, data as PageRecord);
    await em.flush();
    return page.id;
  };

  t.test('DELETE marks the record by one statement, and the view has it no more', async (t) => {
    class Pages extends ModelViewSet(Page, {
      ...declared,
      bulk: 5,
      exports: ['ndjson'],
      searchFields: ['title'],
      filterFields: { words: 'words' },
      summary: { values: { id: ['max'] } },
    }) {}
    const send = await start(t, new Router().register('pages', Pages));
    const [id, other] = [await make({ title: 'Tea' }), await make({ title: 'Rum' })];
    const before = Date.now();
    const queries = recordQueries(orm);
    t.match(await send('DELETE', `/pages/${id}`), { status: 204, body: undefined });
    queries.stop();
    t.equal(queries.texts.length, 1, queries.texts.join('\n'));
    if (database !== 'mongodb') t.match(queries.texts[0], /^update "page" .*deleted_at" is null/);
    const [page] = await stored();
    t.ok(page!.deleted_at!.getTime() >= before && page!.deleted_at!.getTime() <= Date.now() + 1);
    const gone = { status: 404, body: { code: 'not_found' } };
    t.match(await send('DELETE', `/pages/${id}`), gone);
    t.match(await send('GET', `/pages/${id}`), gone);
    t.match(await send('PATCH', `/pages/${id}`, { title: 'Ale' }), gone);
    t.match(await send('PATCH', `/pages/${id}`, {}), gone);
    t.match(await send('PUT', `/pages/${id}`, { title: 'Ale', words: 1 }), gone);
    t.match(await send('PATCH', '/pages', [{ id, title: 'Ale' }]), gone);
    t.match(await send('DELETE', `/pages?pk=${other},${id}`), gone);
    t.match(await send('GET', '/pages'), { body: { count: 1, results: [{ id: other }] } });
    t.match(await send('GET', '/pages?search=tea'), { body: { count: 0 } });
    t.match(await send('GET', '/pages?words=0'), { body: { count: 1 } });
    t.match(await send('GET', '/pages/summary?max=id'), { body: { results: [{ count: 1, max: { id: other } }] } });
    t.equal((await send('GET', `/pages.ndjson`)).answer.body, `{"id":${other},"title":"Rum"}\n`);
    // Nobody said who may see deleted records.
    t.match(await send('POST', `/pages/${id}/restore`), { status: 404 });
    t.match(await send('GET', '/pages?deleted=true'), { status: 400 });
    t.equal((await stored()).length, 2);
  });

  t.test('a bulk DELETE marks all records or none, also with an override', async (t) => {
    const hooked: unknown[] = [];
    class Pages extends ModelViewSet(Page, { ...declared, bulk: 5 }) {}
    class Hooked extends ModelViewSet(Page, { ...declared, bulk: 5 }) {
      override async performDestroy(request: FastifyRequest, page: PageRecord) {
        await super.performDestroy(request, page);
        hooked.push(page.id);
      }
    }
    const send = await start(t, new Router().register('pages', Pages).register('hooked', Hooked));
    const ids = [];
    for (const title of ['A', 'B', 'C', 'D']) ids.push(await make({ title }));
    t.match(await send('DELETE', `/pages?pk=${ids[0]},${ids[1]}`), { status: 204 });
    t.match(await send('DELETE', `/hooked?pk=${ids[2]}`), { status: 204 });
    t.match(await send('DELETE', `/hooked/${ids[3]}`), { status: 204 });
    t.strictSame(hooked, [ids[2], ids[3]]);
    t.strictSame(
      (await stored()).map(({ deleted_at }) => deleted_at instanceof Date),
      [true, true, true, true],
    );
    t.match(await send('GET', '/hooked'), { body: { count: 0 } });
  });

  t.test('of many concurrent requests that delete one record, exactly one succeeds', async (t) => {
    class Pages extends ModelViewSet(Page, { ...declared, bulk: 5 }) {}
    const send = await start(t, new Router().register('pages', Pages));
    const id = await make({ title: 'Tea' });
    const urls = [`/pages/${id}`, `/pages?pk=${id}`, `/pages/${id}`, `/pages?pk=${id}`, `/pages/${id}`];
    const answers = await Promise.all(urls.map((url) => send('DELETE', url)));
    t.strictSame(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [204, 404, 404, 404, 404],
    );
  });

  t.test('of many concurrent requests that restore one record, exactly one succeeds', async (t) => {
    class Pages extends ModelViewSet(Page, {
      ...declared,
      softDelete: { property: 'deleted_at', visibleTo: [AllowAny] },
    }) {}
    const send = await start(t, new Router().register('pages', Pages));
    const id = await make({ title: 'Tea', deleted_at: new Date() });
    const answers = await Promise.all([1, 2, 3, 4].map(() => send('POST', `/pages/${id}/restore`)));
    t.strictSame(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 404, 404, 404],
    );
  });

  t.test('the file of a deleted record is not sent, and stays for the restored one', async (t) => {
    const files = new Map<string, Buffer>();
    const store: FileStore = {
      put: async (key, content) => void files.set(key, await buffer(content)),
      get: async (key) => Readable.from([files.get(key)!]),
      delete: async (key) => void files.delete(key),
    };
    class Scans extends ModelViewSet(Scan, {
      read: readShape(Scan, ['id', 'image']),
      write: writeShape(Scan, [], { image: file({ store, maxBytes: 100, types: ['text/plain'] }) }),
      softDelete: { property: 'deleted_at', visibleTo: [AllowAny] },
    }) {}
    await orm.schema.clear();
    const app = await testApp(t, orm, [new Router().register('scans', Scans)]);
    const form = '--f\r\ncontent-disposition: form-data; name="image"; filename="a.txt"\r\n\r\nhello\r\n--f--\r\n';
    const headers = { 'content-type': 'multipart/form-data; boundary=f' };
    const made = await app.inject({ method: 'POST', url: '/scans', headers, payload: form });
    t.equal(made.statusCode, 201);
    const { id } = made.json();
    const url = `/scans/${id}/image`;
    t.equal((await app.inject(url)).body, 'hello');
    t.equal((await app.inject({ method: 'DELETE', url: `/scans/${id}` })).statusCode, 204);
    t.equal((await app.inject(url)).statusCode, 404);
    t.equal((await app.inject({ method: 'POST', url: `/scans/${id}/restore` })).statusCode, 200);
    t.equal((await app.inject(url)).body, 'hello');
  });

  t.test('users of visibleTo list deleted records, and restore them if the view permits it', async (t) => {
    class Pages extends ModelViewSet(Page, {
      ...declared,
      read: readShape(Page, ['id', 'title', 'deleted_at']),
      softDelete: { property: 'deleted_at', visibleTo: [IsRoleAdminUser] },
      permissionClasses: [IsAuthenticated],
      searchFields: ['title'],
    }) {}
    const send = await start(t, new Router().register('pages', Pages));
    const [id, other] = [await make({ title: 'Tea' }), await make({ title: 'Rum' })];
    t.match(await send('DELETE', `/pages/${id}`, undefined, 'ann'), { status: 204 });
    for (const [method, url] of [
      ['GET', '/pages/deleted'],
      ['POST', `/pages/${id}/restore`],
    ] as const) {
      t.match(await send(method, url), { status: 401 });
      t.match(await send(method, url, undefined, 'ann'), { status: 403 });
    }
    const listed = await send('GET', '/pages/deleted?search=tea', undefined, 'admin');
    t.match(listed, { status: 200, body: { count: 1, results: [{ id, title: 'Tea', deleted_at: /^\d{4}-/ }] } });
    t.match(await send('GET', '/pages/deleted?search=rum', undefined, 'admin'), { body: { count: 0 } });
    t.match(await send('POST', `/pages/${other}/restore`, undefined, 'admin'), { status: 404 });
    const restored = await send('POST', `/pages/${id}/restore`, undefined, 'admin');
    t.strictSame([restored.status, restored.body], [200, { id, title: 'Tea', deleted_at: null }]);
    t.match(await send('POST', `/pages/${id}/restore`, undefined, 'admin'), { status: 404 });
    t.match(await send('GET', `/pages/${id}`, undefined, 'ann'), { status: 200 });
    t.match(await send('GET', '/pages/deleted', undefined, 'admin'), { body: { count: 0 } });
    await send('DELETE', `/pages/${id}`, undefined, 'ann');
    const permitted = async (url: string, user: string) => {
      const { answer } = await send('OPTIONS', url, undefined, user);
      return String(answer.headers['permitted-operations']).split(', ');
    };
    t.strictSame(await permitted(`/pages/${other}/restore`, 'admin'), ['']);
    t.strictSame(await permitted(`/pages/${id}/restore`, 'admin'), ['restorePage']);
    t.strictSame(await permitted(`/pages/${id}/restore`, 'ann'), ['']);
    t.strictSame(await permitted('/pages/deleted', 'admin'), ['deletedPages']);
    t.strictSame(await permitted('/pages/deleted', 'ann'), ['']);
  });

  t.test('the scopes of the view and of visibleTo hold for deleted records', async (t) => {
    class Pages extends ModelViewSet(Page, {
      ...declared,
      softDelete: { property: 'deleted_at', visibleTo: [AllowAny] },
      permissionClasses: [OwnedByUser],
    }) {}
    class ForOwners extends ModelViewSet(Page, {
      ...declared,
      softDelete: { property: 'deleted_at', visibleTo: [OwnedByUser] },
    }) {}
    const send = await start(t, new Router().register('pages', Pages).register('others', ForOwners));
    const now = new Date();
    const id = await make({ title: 'Tea', owner: 'ann', deleted_at: now });
    const other = await make({ title: 'Rum', owner: 'ben', deleted_at: now });
    for (const path of ['/pages', '/others']) {
      t.match(await send('GET', `${path}/deleted`, undefined, 'ann'), { body: { count: 1, results: [{ id }] } });
      t.match(await send('POST', `${path}/${other}/restore`, undefined, 'ann'), { status: 404 });
    }
    t.match(await send('POST', `/others/${id}/restore`, undefined, 'ann'), { status: 200 });
    t.match(await send('GET', '/pages', undefined, 'ann'), { body: { count: 1, results: [{ id }] } });
  });

  t.test('only the owner of a record restores it', async (t) => {
    class Pages extends ModelViewSet(Page, {
      ...declared,
      softDelete: { property: 'deleted_at', visibleTo: [AllowAny] },
      permissionClasses: [IsPageOwner],
    }) {}
    const send = await start(t, new Router().register('pages', Pages));
    const id = await make({ title: 'Tea', owner: 'ann' });
    t.match(await send('DELETE', `/pages/${id}`, undefined, 'ben'), { status: 403 });
    t.match(await send('DELETE', `/pages/${id}`, undefined, 'ann'), { status: 204 });
    t.match(await send('POST', `/pages/${id}/restore`, undefined, 'ben'), { status: 403 });
    t.match(await send('POST', `/pages/${id}/restore`, { deleted_at: '2026-01-01T00:00:00Z' }, 'ann'), { status: 200 });
    t.match(await send('PATCH', `/pages/${id}`, { deleted_at: '2026-01-01T00:00:00Z' }, 'ann'), { status: 200 });
    t.match(await send('GET', `/pages/${id}`), { status: 200 });
  });

  t.test('a reference to a deleted record is rejected, unless its view shows deleted records', async (t) => {
    class Pages extends ModelViewSet(Page, declared) {}
    class All extends ModelViewSet(Page, { read }) {}
    const links = {
      read: readShape(Link, ['id', 'page'], { pages: many('pages.id') }),
      write: writeShape(Link, ['page'], { pages: refs('pages') }),
    };
    class Links extends ModelViewSet(Link, links) {}
    class Shown extends ModelViewSet(Link, { ...links, referenceViews: { page: All, pages: Pages } }) {}
    const router = new Router().register('links', Links).register('shown', Shown).register('all', All);
    const send = await start(t, router, new Router().register('pages', Pages));
    const [id, gone] = [await make({ title: 'Tea' }), await make({ title: 'Rum', deleted_at: new Date() })];
    t.match(await send('POST', '/links', { page: id, pages: [id] }), { status: 201 });
    const refused = await send('POST', '/links', { page: gone, pages: [id, gone] });
    const absent = await send('POST', '/links', { page: 99, pages: [id, 99] });
    t.strictSame([refused.status, refused.body], [400, absent.body]);
    t.match(refused.body.details, [{ path: '/page' }, { path: '/pages/1' }]);
    t.match(await send('POST', '/shown', { page: gone, pages: [] }), { status: 201 });
    t.match(await send('POST', '/shown', { page: id, pages: [gone] }), { status: 400 });
  });

  t.test('paths below a deleted parent return 404', async (t) => {
    class Shelves extends ModelViewSet(Shelf, {
      read: readShape(Shelf, ['id', 'name']),
      write: writeShape(Shelf, ['name']),
      softDelete: 'gone_at',
    }) {}
    class Pages extends ModelViewSet(Page, {
      ...declared,
      write: writeShape(Page, ['title']),
      softDelete: { property: 'deleted_at', visibleTo: [AllowAny] },
    }) {}
    const router = new Router().register('shelves', Shelves).register('shelves/:shelf/pages', Pages);
    const send = await start(t, router);
    const shelf = (await send('POST', '/shelves', { name: 'North' })).body.id;
    const at = `/shelves/${shelf}/pages`;
    const { id } = (await send('POST', at, { title: 'Tea' })).body;
    t.match(await send('GET', at), { body: { count: 1 } });
    t.match(await send('DELETE', `${at}/${id}`), { status: 204 });
    t.match(await send('GET', at), { body: { count: 0 } });
    t.match(await send('GET', `${at}/deleted`), { body: { count: 1 } });
    t.match(await send('DELETE', `/shelves/${shelf}`), { status: 204 });
    for (const [method, url, body] of [
      ['GET', at],
      ['GET', `${at}/${id}`],
      ['GET', `${at}/deleted`],
      ['POST', at, { title: 'Ale' }],
      ['POST', `${at}/${id}/restore`],
    ] as const) {
      t.match(await send(method, url, body), { status: 404 }, `${method} ${url}`);
    }
    t.equal((await stored()).length, 1);
  });

  t.test('a record with a version is marked if it is as the client knows it', async (t) => {
    class Slips extends ModelViewSet(Slip, {
      read: readShape(Slip, ['id', 'text']),
      write: writeShape(Slip, ['text']),
      softDelete: { property: 'deleted_at', visibleTo: [AllowAny] },
    }) {}
    const send = await start(t, new Router().register('slips', Slips));
    const { body, answer } = await send('POST', '/slips', { text: 'Tea' });
    const { etag } = answer.headers as { etag: string };
    const remove = (tag: string) => send('DELETE', `/slips/${body.id}`, undefined, undefined, { 'if-match': tag });
    t.match(await remove('"other"'), { status: 412 });
    t.match(await remove(etag), { status: 204 });
    t.match(await remove(etag), { status: 404 });
    t.match(await send('POST', `/slips/${body.id}/restore`), { status: 200, body: { text: 'Tea' } });
    const [slip] = await orm.em.fork().findAll(Slip);
    t.match(slip, { revision: 3, deleted_at: null });
  });

  t.test('listeners are notified of a deletion, and of a restore as an update', async (t) => {
    const told: (readonly RecordWrite[])[] = [];
    class Pages extends ModelViewSet(Page, {
      ...declared,
      softDelete: { property: 'deleted_at', visibleTo: [AllowAny] },
      emits: ['deleted', 'updated'],
    }) {}
    await orm.schema.clear();
    const app = await testApp(t, orm, [new Router().register('pages', Pages)], {
      before: (server) => server.viewset.addFeature(eventsFeature(async (writes) => void told.push(writes))),
    });
    const id = await make({ title: 'Tea' });
    await app.inject({ method: 'DELETE', url: `/pages/${id}` });
    await app.inject({ method: 'POST', url: `/pages/${id}/restore` });
    t.match(told, [
      [{ kind: 'deleted', key: id, record: { id, title: 'Tea' } }],
      [{ kind: 'updated', key: id, record: { id, title: 'Tea' } }],
    ]);
  });

  t.test('overrides that start from all records do not bring deleted ones back', async (t) => {
    class Pages extends ModelViewSet(Page, { ...declared, pagination: null }) {
      override getQueryset(request: FastifyRequest) {
        return QuerySet.of(request.em, Page);
      }

      override filterQueryset(request: FastifyRequest) {
        return QuerySet.of(request.em, Page);
      }

      titles = action({}, async (request) => this.rows(QuerySet.of(request.em, Page), request));
    }
    const send = await start(t, new Router().register('pages', Pages));
    const [id, gone] = [await make({ title: 'Tea' }), await make({ title: 'Rum', deleted_at: new Date() })];
    for (const url of ['/pages', '/pages/titles']) t.strictSame((await send('GET', url)).body, [{ id, title: 'Tea' }]);
    t.match(await send('GET', `/pages/${gone}`), { status: 404 });
    t.match(await send('DELETE', `/pages/${gone}`), { status: 404 });
  });

  t.test('a unique value of a deleted record stays taken, and a partial index frees it', async (t) => {
    if (database === 'mongodb') return;
    class Pages extends ModelViewSet(Page, {
      ...declared,
      softDelete: { property: 'deleted_at', visibleTo: [AllowAny] },
    }) {}
    const send = await start(t, new Router().register('pages', Pages));
    await orm.em
      .fork()
      .getConnection()
      .execute('create unique index one_title on page (title) where deleted_at is null');
    t.teardown(() => orm.em.fork().getConnection().execute('drop index one_title'));
    const { id } = (await send('POST', '/pages', { title: 'Tea' })).body;
    t.match(await send('POST', '/pages', { title: 'Tea' }), { status: 409 });
    await send('DELETE', `/pages/${id}`);
    t.match(await send('POST', '/pages', { title: 'Tea' }), { status: 201 });
    t.match(await send('POST', `/pages/${id}/restore`), { status: 409, body: { code: 'conflict' } });
  });
});

t.test('the compiler rejects a property that cannot be the time of a deletion', async () => {
  // @ts-expect-error a text is no time
  ModelViewSet(Page, { read, write, softDelete: 'title' });
  // @ts-expect-error it has no such property
  ModelViewSet(Page, { read, write, softDelete: 'deletedat' });
  // @ts-expect-error a day is no time
  ModelViewSet(Page, { read, write, softDelete: { property: 'day', visibleTo: [AllowAny] } });
  // @ts-expect-error a record always has it
  ModelViewSet(Stamp, { read: readShape(Stamp, ['id']), softDelete: 'made_at' });
});

t.test('declarations that cannot be are refused at start', async (t) => {
  const orm = await openSqlite(t, { entities: [Shelf, Page, Link, Slip, Stamp] });
  const view = (options: object) => ModelViewSet(Page, { read, write, ...options }) as new () => ViewSet;
  const wanted = 'the name of a nullable p.datetime() of the entity';
  for (const [options, message] of [
    [{ softDelete: 'deletedat' }, 'names no field: Page has no property "deletedat"; did you mean "deleted_at"?'],
    [{ softDelete: 'title' }, `option "softDelete" must be ${wanted}, got "title"`],
    [{ softDelete: 'day' }, `option "softDelete" must be ${wanted}, got "day"`],
    [{ softDelete: 'shelf.gone_at' }, `option "softDelete" must be ${wanted}, got "shelf.gone_at"`],
    [
      { softDelete: true },
      'option "softDelete" must be the name of a property, or an object of "property" and "visibleTo"',
    ],
    [{ softDelete: { propery: 'deleted_at' } }, 'unknown option "propery"; did you mean "property"?'],
    [{ softDelete: { visibleTo: [AllowAny] } }, 'softDelete'],
    [{ softDelete: { property: 'deleted_at', visibleTo: [] } }, 'a list of at least one class'],
    [{ softDelete: { property: 'deleted_at', visibleTo: ['admin'] } }, /admin/],
    [
      { write: writeShape(Page, ['title', 'deleted_at']), softDelete: 'deleted_at' },
      'a client could delete and restore records',
    ],
    [{ fill: { deleted_at: () => null }, softDelete: 'deleted_at' }, 'a client could delete and restore records'],
    [
      { singleton: () => ({ id: 1 }), softDelete: { property: 'deleted_at', visibleTo: [AllowAny] } },
      'option "visibleTo" does not fit "singleton"',
    ],
  ] as const) {
    const problem = async () => errorAtStart(t, orm, class Pages extends view(options) {});
    t.match(await problem().catch((error: Error) => error.message), message);
  }
  const stamps = { read: readShape(Stamp, ['id']), softDelete: 'made_at' };
  class Stamps extends (ModelViewSet(Stamp, stamps as never) as new () => ViewSet) {}
  t.match(await errorAtStart(t, orm, Stamps), `option "softDelete" must be ${wanted}, got "made_at"`);
  class Named extends ModelViewSet(Page, {
    ...declared,
    softDelete: { property: 'deleted_at', visibleTo: [AllowAny] },
  }) {
    restore = action({ methods: ['post'], detail: true, responses: { 204: null } }, (_request, reply) =>
      reply.code(204),
    );
  }
  t.match(
    await errorAtStart(t, orm, Named),
    'its options make an action "restore", and the view has another action of this name; rename it',
  );
});
