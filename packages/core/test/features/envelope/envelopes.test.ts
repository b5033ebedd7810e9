/** Bodies and answers in the members that a view names, and pages with other names. */
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import {
  action,
  CursorPagination,
  InvalidUsage,
  LimitOffsetPagination,
  ModelViewSet,
  PageNumberPagination,
  readShape,
  Router,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { errorAtStart, testApp } from '../../support/library.ts';
import { fillTags, SHELVES, Tag } from '../../support/shelves.ts';

const options = {
  read: readShape(Tag, ['id', 'name']),
  write: writeShape(Tag, ['name', 'owner']),
  orderingFields: { name: 'name' },
} as const;
const envelope = { one: 'tag', many: 'tags', count: 'tagsCount' } as const;

class Tags extends ModelViewSet(Tag, { ...options, envelope, bulk: 5, etags: true, fields: true }) {}
class Ones extends ModelViewSet(Tag, { ...options, envelope: { one: 'data' }, bulk: 5 }) {}
class Whole extends ModelViewSet(Tag, { ...options, envelope, pagination: null, exports: ['ndjson'] }) {}
class Uncounted extends ModelViewSet(Tag, { ...options, envelope: { many: 'tags' } }) {}
class Cursors extends ModelViewSet(Tag, { ...options, envelope, pagination: CursorPagination, pageSize: 2 }) {}
const Renamed = LimitOffsetPagination.with({
  names: { limit: 'take', offset: 'skip', results: 'items', count: 'total', next: 'more', previous: null },
  pageSize: 2,
});
class Named extends ModelViewSet(Tag, { ...options, pagination: Renamed }) {}
class Both extends ModelViewSet(Tag, { ...options, pagination: Renamed, envelope: { many: 'tags' } }) {}
class Plain extends ModelViewSet(Tag, { ...options, bulk: 5, etags: true, exports: ['ndjson'] }) {
  first = action({ answers: 'record' }, async (request) => {
    const [tag] = await this.getQueryset(request).slice(0, 1).entities();
    return this.represent(tag!, request);
  });
}
class Bare extends ModelViewSet(Tag, { ...options, envelope: null }) {}
class Validated extends ModelViewSet(Tag, {
  ...options,
  envelope,
  bulk: 5,
  extra: Type.Object({ code: Type.Optional(Type.Integer()) }),
  validate: ({ name }, problems) => {
    if (name === 'bad') problems.add('/name', 'must not be bad');
  },
}) {
  override async performCreate(request: FastifyRequest, data: { name: string }) {
    const details = [{ in: 'body', path: '/owner', message: 'must be somebody' }] as const;
    if (data.name === 'nobody') throw new InvalidUsage('No owner', { details });
    return super.performCreate(request, data);
  }
}

/** An error with a state of its own, which a program throws again and again. */
class Closed extends InvalidUsage {
  readonly #reason = 'closed';
  get reason() {
    return this.#reason;
  }
  override toBody() {
    return { ...super.toBody(), reason: this.#reason };
  }
}
const CLOSED = new Closed('No', { details: [{ in: 'body', path: '/name', message: 'is closed' }] });
class ThrowingTags extends ModelViewSet(Tag, { ...options, envelope: { one: 'tag' } }) {
  override performCreate(): never {
    throw CLOSED;
  }
}
class ThrowingData extends ModelViewSet(Tag, { ...options, envelope: { one: 'data' } }) {
  override performCreate(): never {
    throw CLOSED;
  }
}

forEachDatabase(t, { entities: SHELVES }, async (t, orm) => {
  t.beforeEach(() => fillTags(orm));
  const router = new Router()
    .register('tags', Tags)
    .register('throwing-tags', ThrowingTags)
    .register('throwing-data', ThrowingData)
    .register('ones', Ones)
    .register('whole', Whole)
    .register('uncounted', Uncounted)
    .register('cursors', Cursors)
    .register('named', Named)
    .register('both', Both)
    .register('judged', Validated);
  const enveloping = new Router({ prefix: 'all', envelope: { one: 'data', many: 'items', count: 'total' } })
    .register('plain', Plain, { basename: 'all-plain' })
    .register('tags', Tags, { basename: 'all-tags' })
    .register('ones', Ones, { basename: 'all-ones' })
    .register('bare', Bare, { basename: 'all-bare' });
  const app = await testApp(t, orm, [router.register('plain', Plain), enveloping], {
    options: { secret: 'a secret of thirty-two bytes ...' },
  });
  type Method = 'GET' | 'POST' | 'PUT' | 'PATCH';
  const send = async (method: Method, url: string, payload?: object, headers = {}) => {
    const answer = await app.inject({ method, url, headers, ...(payload && { payload }) });
    const { statusCode: status } = answer;
    return { status, body: answer.json<Record<string, unknown>>(), headers: answer.headers };
  };
  const get = async (url: string) => (await send('GET', url)).body;
  const [red, blue, green] = [
    { id: 101, name: 'red' },
    { id: 102, name: 'blue' },
    { id: 103, name: 'green' },
  ];

  t.test('a single record has the member "one", in bodies and responses', async (t) => {
    t.strictSame(await get('/tags/101'), { tag: red });
    t.strictSame(await get('/tags/101?fields=name'), { tag: { name: 'red' } });
    const created = await send('POST', '/tags', { tag: { name: 'pink' } });
    t.equal(created.status, 201);
    t.match(created.body, { tag: { name: 'pink' } });
    t.strictSame(Object.keys(created.body), ['tag']);
    t.strictSame((await send('PATCH', '/tags/101', { tag: { name: 'rose' } })).body, { tag: { ...red, name: 'rose' } });
    t.strictSame((await send('PUT', '/tags/101', { tag: { name: 'ruby' } })).body, { tag: { ...red, name: 'ruby' } });
    t.strictSame(await get('/ones/101'), { data: { ...red, name: 'ruby' } });
  });

  t.test('a list has the member "many"', async (t) => {
    t.strictSame(await get('/tags?sort=-name&page_size=2'), { tagsCount: 3, tags: [red, green] });
    t.strictSame(await get('/tags?page=9'), { tagsCount: 3, tags: [] });
    t.strictSame(await get('/whole'), { tags: [red, blue, green], tagsCount: 3 });
    t.strictSame(await get('/uncounted'), { tags: [red, blue, green] });
    t.strictSame(await get('/ones'), { count: 3, next: false, previous: false, results: [red, blue, green] });
    t.equal((await app.inject('/whole.ndjson')).body.split('\n')[0], JSON.stringify(red), 'an export has no envelope');
    const first = await get('/cursors');
    t.strictSame(Object.keys(first), ['next_cursor', 'previous_cursor', 'tags'], 'cursors stay');
    t.strictSame((await get(`/cursors?cursor=${String(first['next_cursor'])}`))['tags'], [green]);
  });

  t.test('a paginator has other names', async (t) => {
    t.strictSame(await get('/named?take=2&skip=1'), { total: 3, more: false, items: [blue, green] });
    t.strictSame(await get('/both?take=2'), { total: 3, more: true, tags: [red, blue] }, 'the envelope comes first');
    t.match(await send('GET', '/named?limit=2'), { status: 400 });
  });

  t.test('a bulk create and a bulk update use the member "many"', async (t) => {
    const created = await send('POST', '/tags', { tags: [{ name: 'pink' }, { name: 'grey' }] });
    t.match(created, { status: 201, body: { tags: [{ name: 'pink' }, { name: 'grey' }] } });
    t.strictSame(Object.keys(created.body), ['tags']);
    t.match(await send('POST', '/tags.bulk', { tags: [{ name: 'x' }] }), {
      status: 201,
      body: { tags: [{ name: 'x' }] },
    });
    const changed = await send('PATCH', '/tags', { tags: [{ id: 101, name: 'rose' }] });
    t.strictSame(changed.body, { tags: [{ id: 101, name: 'rose' }] });
    t.match(await send('POST', '/ones', [{ name: 'a' }]), { status: 201, body: [{ name: 'a' }] });
    t.match(await send('PATCH', '/tags', [{ id: 101, name: 'x' }]), {
      status: 400,
      body: { error: 'Invalid body: the body must be an object with the property "tags"' },
    });
  });

  t.test('the envelope of a router applies to views without an envelope', async (t) => {
    t.strictSame(await get('/all/plain/101'), { data: red });
    t.strictSame(await get('/all/plain?page_size=2'), { total: 3, items: [red, blue] });
    t.strictSame(await get('/all/plain/first'), { data: red });
    t.equal((await app.inject('/all/plain.ndjson')).body.split('\n')[0], JSON.stringify(red));
    const { etag } = (await send('GET', '/all/plain/101')).headers;
    const changed = await send('PATCH', '/all/plain/101', { data: { name: 'rose' } }, { 'if-match': etag });
    t.match(changed, { status: 200, body: { data: { id: 101, name: 'rose' } } });
    t.match(await send('POST', '/all/plain', { items: [{ name: 'pink' }] }), {
      status: 201,
      body: { items: [{ name: 'pink' }] },
    });
    t.match(await send('POST', '/all/plain', { name: 'grey' }), {
      status: 400,
      body: { details: [{ path: '/data', message: 'is required' }] },
    });
    t.match(await send('POST', '/all/plain', { data: { name: 7 } }), {
      status: 400,
      body: { details: [{ path: '/data/name' }] },
    });
  });

  t.test('the envelope of a view overrides that of its router', async (t) => {
    t.strictSame(await get('/all/tags/101'), { tag: red });
    t.strictSame(await get('/all/ones'), { count: 3, next: false, previous: false, results: [red, blue, green] });
    t.strictSame(await get('/all/bare/101'), red);
    t.match(await send('POST', '/all/bare', { name: 'pink' }), { status: 201, body: { name: 'pink' } });
    t.strictSame(await get('/plain/101'), red, 'and another router has none');
  });

  t.test('errors have the paths of the body as it was sent', async (t) => {
    const paths = async (method: Method, url: string, payload: object) => {
      const { status, body } = await send(method, url, payload);
      return [status, ...((body['details'] ?? []) as { path: string }[]).map(({ path }) => path)];
    };
    t.strictSame(await paths('POST', '/tags', { name: 'pink' }), [400, '/tag']);
    t.strictSame(await paths('POST', '/tags', []), [400, '']);
    t.strictSame(await paths('POST', '/tags', { tag: null }), [400, '/tag']);
    t.strictSame(await paths('POST', '/tags', { tag: [] }), [400, '/tag']);
    t.strictSame(await paths('PATCH', '/tags/101', { other: {} }), [400, '/tag']);
    t.strictSame(await paths('POST', '/tags', { tag: { name: 7 } }), [400, '/tag/name']);
    t.strictSame(await paths('POST', '/tags', { tags: [{ name: 'a' }, {}] }), [400, '/tags/1/name']);
    t.strictSame(await paths('PATCH', '/tags', { tags: [{ id: 999, name: 'a' }] }), [404, '/tags/0/id']);
    t.strictSame(await paths('POST', '/judged', { tag: { name: 'bad', code: 'x' } }), [400, '/tag/code', '/tag/name']);
    t.strictSame(await paths('POST', '/judged', { tags: [{ name: 'bad' }] }), [400, '/tags/0/name']);
    t.strictSame(await paths('POST', '/judged', { tag: { name: 'nobody' } }), [400, '/tag/owner'], 'of a hook too');
    t.match(await send('POST', '/tags', { tag: { name: 'red' } }), { status: 409 });
    t.strictSame(await paths('PATCH', '/ones/101', { data: { name: null } }), [400, '/data/name']);
  });

  t.test('an error that two views throw names the place in each', async (t) => {
    const details = (path: string) => [{ in: 'body', path, message: 'is closed' }];
    for (const member of ['tag', 'data', 'tag']) {
      const { body } = await send('POST', member === 'tag' ? '/throwing-tags' : '/throwing-data', {
        [member]: { name: 'a' },
      });
      t.strictSame(body, { error: 'No', code: 'invalid_usage', details: details(`/${member}/name`), reason: 'closed' });
    }
    t.strictSame(CLOSED.details, details('/name'));
  });

  t.test('the ETag covers the record in its envelope', async (t) => {
    const { etag } = (await send('GET', '/tags/101')).headers;
    t.match(await app.inject({ url: '/tags/101', headers: { 'if-none-match': String(etag) } }), { statusCode: 304 });
    const written = await send('PATCH', '/tags/101', { tag: { name: 'rose' } }, { 'if-match': etag });
    t.equal(written.status, 200);
    t.equal((await send('GET', '/tags/101')).headers.etag, written.headers.etag);
    t.equal((await send('PATCH', '/tags/101', { tag: { name: 'x' } }, { 'if-match': etag })).status, 412);
  });
});

forEachDatabase(t, { entities: SHELVES, only: ['sqlite'] }, async (t, orm) => {
  t.test('envelope names that do not fit fail at start', async (t) => {
    const message = (given: object) => errorAtStart(t, orm, ModelViewSet(Tag, { ...options, ...given }));
    t.match(await message({ envelope: { count: 'n' } }), '.envelope: "count" needs "many"');
    t.match(await message({ envelope: { many: 'a', count: 'a' } }), '"many" and "count" are both "a"');
    t.match(await message({ envelope: { once: 'a' } }), 'unknown option "once"; did you mean "one"?');
    t.match(
      await message({ pagination: PageNumberPagination.with({ names: { results: 'count' } }) }),
      'two members of a page have the name "count"',
    );
    t.match(await message({ envelope: 'tag' }), /envelope.*and "count", or null/);
    t.throws(() => new Router({ envelope: { count: 'n' } }), { message: /^Router.envelope: "count" needs "many"/ });
    t.throws(() => new Router({ envelope: 'tag' as never }), {
      message: /^Router: option "envelope" must be an object/,
    });
    t.throws(() => new Router({ envelop: {} } as never), { message: /did you mean "envelope"/ });
    const wrong = { names: { limit: 'l' } } as object;
    t.throws(() => PageNumberPagination.with(wrong), {
      message: /PageNumberPagination.with\(\): "names": unknown option/,
    });
    const counting: object = { count: 'none' };
    t.throws(() => CursorPagination.with(counting), {
      message:
        /CursorPagination.with\(\): unknown option "count".* Known options: names, pageSize, maxPageSize, links$/,
    });
    t.throws(() => CursorPagination.with({ names: { cursor: null as never } }), {
      message: /"cursor" must be a non-empty/,
    });
  });
});
