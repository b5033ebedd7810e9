/** ETag, If-None-Match, If-Match (RFC 9110, section 13) and 428 (RFC 6585, section 3). */
import cors from '@fastify/cors';
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest, type InjectOptions } from 'fastify';
import t from 'tap';
import {
  action,
  ModelViewSet,
  Permission,
  type PermissionView,
  type RecordRequest,
  QuerySet,
  readShape,
  Router,
  serverOptions,
  UnprocessableEntity,
  viewset,
  writeShape,
} from '../../../src/index.ts';
import { entityTag } from '../../../src/http/entity-tag.ts';
import { EVERY_DATABASE, forEachDatabase, openSqlite } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Counter = defineEntity({
  name: 'Counter',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(50),
    value: p.integer().default(0),
    big: p.bigint('bigint').nullable(),
    owner: p.string().length(20).default('Ada'),
  },
});
const Versioned = defineEntity({
  name: 'Versioned',
  properties: { id: p.integer().primary(), name: p.string().length(50), version: p.integer().version() },
});

const read = readShape(Counter, ['id', 'name', 'value', 'big']);
const write = writeShape(Counter, ['name', 'value', 'big']);

class OfAda extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<InferEntity<typeof Counter>>(view, { owner: 'Ada' });
  }
}
class CounterViewSet extends ModelViewSet(Counter, { read, write, etags: true, permissionClasses: [OfAda] }) {}
class StrictViewSet extends ModelViewSet(Counter, { read, write, requireIfMatch: true }) {
  ways = action({}, () => this.explain());
}
class BulkViewSet extends ModelViewSet(Counter, { read, write, etags: true, bulk: 10 }) {}
class PlainViewSet extends ModelViewSet(Counter, { read, write }) {}
/** Its records are made of entities, and those of `retrieve` have more than is stored. */
class RepresentingViewSet extends ModelViewSet(Counter, { read, write, etags: true }) {
  override represent(entity: { value: number; name: string }) {
    return { ...super.represent(entity as never), name: entity.name.toUpperCase() };
  }
  override async retrieve(request: FastifyRequest, reply: FastifyReply) {
    const record = await super.retrieve(request, reply);
    return { ...record, value: record.value * 2 };
  }
}
/** Its look-up takes no lock. */
class CustomLookUpViewSet extends ModelViewSet(Counter, { read, write, etags: true }) {
  override async getObject(request: RecordRequest) {
    const { pk } = request.params as { pk: string };
    return await request.em.findOneOrFail(Counter, { id: Number(pk) });
  }
}
/** It sends its records itself, with a header more and one less. */
class SendingViewSet extends ModelViewSet(Counter, { read, write, etags: true }) {
  override async retrieve(request: FastifyRequest, reply: FastifyReply) {
    void reply.removeHeader('x-content-type-options');
    return reply.header('x-of', 'retrieve').send(await super.retrieve(request, reply)) as never;
  }
}
/** It computes its records by what the application has added to replies. */
class DecoratedViewSet extends ModelViewSet(Counter, { read, write, etags: true }) {
  override async retrieve(request: FastifyRequest, reply: FastifyReply) {
    const record = await super.retrieve(request, reply);
    reply.factor = 3;
    const times = reply.getDecorator<FastifyReply['times']>('times');
    return { ...record, value: times(record.value), name: reply.labelled(record.name) };
  }
}
/** It answers by errors and by what is no record. */
class OtherResponsesViewSet extends ModelViewSet(Counter, { read, write, etags: true }) {
  override async retrieve(request: FastifyRequest, reply: FastifyReply): Promise<never> {
    const record = await super.retrieve(request, reply);
    if (record.name === 'error') return reply.send(new UnprocessableEntity('Not now')) as never;
    if (record.name === 'elsewhere') return reply.redirect('/counters') as never;
    if (record.name === 'absent') return reply.callNotFound() as never;
    if (record.name === 'gone') reply.statusCode = 410;
    return record as never;
  }
}
/** What it adds to a record is in no shape, and so never sent. */
class AddingViewSet extends ModelViewSet(Counter, { read, write, etags: true }) {
  override represent(entity: never): never {
    return { ...(super.represent(entity) as object), asked: performance.now() } as never;
  }
}
class VersionedViewSet extends ModelViewSet(Versioned, {
  read: readShape(Versioned, ['id', 'name']),
  write: writeShape(Versioned, ['name']),
}) {}
class UntaggedViewSet extends ModelViewSet(Versioned, { read: readShape(Versioned, ['id', 'name']), etags: false }) {}

const router = (): Router =>
  new Router()
    .register('counters', CounterViewSet)
    .register('strict', StrictViewSet)
    .register('bulk', BulkViewSet)
    .register('plain', PlainViewSet)
    .register('representing', RepresentingViewSet)
    .register('looking-up', CustomLookUpViewSet)
    .register('sending', SendingViewSet)
    .register('decorated', DecoratedViewSet)
    .register('otherwise', OtherResponsesViewSet)
    .register('adding', AddingViewSet)
    .register('versioned', VersionedViewSet)
    .register('untagged', UntaggedViewSet);

declare module 'fastify' {
  interface FastifyReply {
    factor: number;
    cookies: string[] | null;
    times: (value: number) => number;
    labelled: (name: string) => string;
    setCookie: (name: string, value: string) => FastifyReply;
  }
}

/** Adds to replies as applications and their plugins do; cookies are kept until the answer is sent, as `@fastify/cookie` keeps them. */
function decorateReplies(app: FastifyInstance): void {
  app.decorateReply('factor', 1);
  app.decorateReply('times', function times(value: number) {
    return value * this.factor;
  });
  app.decorateReply('labelled', function labelled(name: string) {
    this.header('x-label', name).setCookie('label', name);
    return `a ${name}`;
  });
  app.decorateReply('cookies', null);
  app.decorateReply('setCookie', function setCookie(name: string, value: string) {
    this.cookies!.push(`${name}=${value}`);
    return this;
  });
  app.addHook('onRequest', async (_request, reply) => {
    reply.cookies = [];
  });
  app.addHook('onSend', async (_request, reply) => {
    if (reply.cookies!.length > 0) void reply.header('set-cookie', reply.cookies!);
  });
}

const STRONG = /^"[\w-]{22}"$/;

forEachDatabase(t, { entities: [Counter, Versioned], only: EVERY_DATABASE }, async (t, orm, database) => {
  const app = await testApp(t, orm, [router()], { before: decorateReplies });
  const send = (method: InjectOptions['method'], url: string, payload?: object, headers: Record<string, string> = {}) =>
    app.inject({ method: method!, url, headers, ...(payload === undefined ? {} : { payload }) });
  const make = async (path = '/counters', body: object = { name: 'a', value: 1 }) => {
    const made = await send('POST', path, body);
    t.equal(made.statusCode, 201, made.body);
    return { url: `${path}/${made.json().id}`, tag: made.headers['etag'] as string, made };
  };

  t.test('a collection has no tag: a write to it meets no condition but If-Match: *', async (t) => {
    const { url, tag } = await make('/bulk', { name: 'first', value: 1 });
    const id = Number(url.slice('/bulk/'.length));
    const untagged = 'A collection has no entity tag; nothing was written';
    const exists = 'The collection exists already; nothing was written';
    const refused: [Record<string, string>, string][] = [
      [{ 'if-match': tag }, untagged],
      [{ 'if-match': '"x"' }, untagged],
      [{ 'if-match': `"x", ${tag}` }, untagged],
      [{ 'if-none-match': '*' }, exists],
      [{ 'if-match': '*', 'if-none-match': '*' }, exists],
    ];
    const before = (await send('GET', '/bulk?page_size=100')).body;
    for (const [headers, error] of refused) {
      const answers = [
        await send('PATCH', '/bulk', [{ id, value: 2 }], headers),
        await send('DELETE', `/bulk?pk=${id}`, undefined, headers),
        await send('POST', '/bulk', [{ name: 'b' }], headers),
        await send('POST', '/bulk', { name: 'b' }, headers),
      ];
      for (const answer of answers) {
        t.equal(answer.statusCode, 412, JSON.stringify(headers));
        t.strictSame(answer.json(), { error, code: 'precondition_failed' });
      }
    }
    t.equal((await send('GET', '/bulk?page_size=100')).body, before, 'nothing is written');
    t.equal(
      (await send('PATCH', '/bulk', [{ id, value: 'x' }], { 'if-match': tag })).statusCode,
      400,
      'faults come first',
    );
    t.equal((await send('POST', '/plain', { name: 'b' }, { 'if-match': tag })).statusCode, 412, 'a view without tags');
    t.equal((await send('POST', '/plain', { name: 'b' }, { 'if-match': '*' })).statusCode, 201);
    const met = { 'if-match': '*', 'if-none-match': tag };
    t.strictSame((await send('PATCH', '/bulk', [{ id, value: 2 }], met)).json(), [
      { id, name: 'first', value: 2, big: null },
    ]);
    t.equal((await send('POST', '/bulk', { name: 'b' }, met)).statusCode, 201);
    t.equal((await send('DELETE', `/bulk?pk=${id}`, undefined, met)).statusCode, 204);
  });

  t.test('a GET or HEAD whose If-Match does not match returns 412', async (t) => {
    for (const path of ['/counters', '/representing', '/sending', '/versioned']) {
      const { url } = await make(path, { name: 'a' });
      const tag = String((await send('GET', url)).headers['etag']);
      for (const method of ['GET', 'HEAD'] as const) {
        for (const other of ['"other"', `W/${tag}`, '"a", "b"']) {
          const answer = await send(method, url, undefined, { 'if-match': other, 'if-none-match': tag });
          t.equal(answer.statusCode, 412, `${method} ${url} ${other}`);
          t.equal(answer.headers['etag'], undefined);
          t.match(answer.body, method === 'GET' ? '"precondition_failed"' : '');
        }
        for (const met of [tag, '*', `"other", ${tag}`]) {
          const answer = await send(method, url, undefined, { 'if-match': met });
          t.strictSame([answer.statusCode, answer.headers['etag']], [200, tag], `${method} ${url} ${met}`);
        }
        t.equal((await send(method, url, undefined, { 'if-match': tag, 'if-none-match': tag })).statusCode, 304);
        t.equal((await send(method, `${path}/999999`, undefined, { 'if-match': '"other"' })).statusCode, 404);
      }
    }
    const plain = await send('POST', '/plain', { name: 'b' });
    const one = `/plain/${plain.json().id}`;
    for (const method of ['GET', 'HEAD'] as const) {
      const untagged = await send(method, one, undefined, { 'if-match': '"other"' });
      t.equal(untagged.statusCode, 412, 'a view without tags');
      t.equal((await send(method, one, undefined, { 'if-match': '*' })).statusCode, 200);
      t.equal((await send(method, '/plain/999999', undefined, { 'if-match': '"other"' })).statusCode, 404);
    }
  });

  t.test('every response with a record has the same strong ETag until the record changes', async (t) => {
    const { url, tag } = await make('/counters', { name: 'tôt', value: 1, big: '9007199254740993' });
    t.match(tag, STRONG);
    const retrieved = await send('GET', url);
    t.equal(retrieved.headers['etag'], tag);
    const head = await send('HEAD', url);
    t.equal(head.headers['etag'], tag);
    t.equal(head.headers['content-length'], retrieved.headers['content-length']);
    const same = await send('PATCH', url, {});
    t.equal(same.headers['etag'], tag, 'an empty change');
    const changed = await send('PATCH', url, { value: 2 });
    t.match(changed.headers['etag'], STRONG);
    t.not(changed.headers['etag'], tag);
    t.equal((await send('GET', url)).headers['etag'], changed.headers['etag']);
    t.equal((await send('GET', '/counters')).headers['etag'], undefined, 'a list has none');
    t.equal((await send('GET', '/counters/999999')).headers['etag'], undefined, 'an error has none');
  });

  t.test('If-None-Match of a GET returns 304 without a body', async (t) => {
    const { url, tag } = await make();
    const headOf = await send('HEAD', url);
    for (const known of [tag, `W/${tag}`, '*', `"other", ${tag}`, `"a,b" , W/${tag}`]) {
      for (const method of ['GET', 'HEAD'] as const) {
        const answer = await send(method, url, undefined, { 'if-none-match': known });
        t.equal(answer.statusCode, 304, `${method} ${known}`);
        t.equal(answer.body, '');
        t.equal(answer.headers['etag'], tag);
        // RFC 9110, section 15.4.5: no length, or that of the record.
        const length = method === 'GET' ? undefined : headOf.headers['content-length'];
        t.equal(answer.headers['content-length'], length);
        t.notOk('content-type' in answer.headers);
      }
    }
    for (const known of ['"other"', tag.slice(1, -1), '', `x${tag.slice(1)}`]) {
      const answer = await send('GET', url, undefined, { 'if-none-match': known });
      t.equal(answer.statusCode, 200, known);
      t.equal(answer.json().name, 'a');
    }
    await send('PATCH', url, { value: 5 });
    t.equal((await send('GET', url, undefined, { 'if-none-match': tag })).statusCode, 200);
    t.equal((await send('GET', '/counters/999999', undefined, { 'if-none-match': '*' })).statusCode, 404);
  });

  t.test('the ETag depends only on the body that is sent', async (t) => {
    const { url, tag } = await make('/adding');
    const read = await send('GET', url);
    t.equal(read.headers['etag'], tag);
    t.notOk('asked' in read.json());
    t.equal((await send('GET', url, undefined, { 'if-none-match': tag })).statusCode, 304);
    t.equal((await send('PATCH', url, { value: 2 }, { 'if-match': tag })).statusCode, 200);
  });

  t.test('a write whose If-None-Match matches returns 412 and writes nothing', async (t) => {
    const { url, tag } = await make();
    const body = { name: 'changed', value: 9 };
    for (const known of ['*', tag, `W/${tag}`, `"other", ${tag}`]) {
      for (const method of ['PUT', 'PATCH', 'DELETE'] as const) {
        const headers = { 'if-none-match': known };
        const answer = await send(method, url, method === 'DELETE' ? undefined : body, headers);
        t.equal(answer.statusCode, 412, `${method} ${known}`);
        t.match(answer.json(), { code: 'precondition_failed', error: /If-None-Match names/ });
      }
    }
    t.equal((await send('GET', url)).headers['etag'], tag);
    t.equal((await send('PUT', '/counters/999999', body, { 'if-none-match': '*' })).statusCode, 404);
    const both = { 'if-match': tag, 'if-none-match': '*' };
    t.equal((await send('PATCH', url, body, both)).statusCode, 412);
    t.equal((await send('PATCH', url, body, { 'if-match': tag, 'if-none-match': '"other"' })).statusCode, 200);
    t.equal((await send('PATCH', url, body, { 'if-none-match': '"other"' })).statusCode, 200);
    const strict = await make('/strict');
    t.equal((await send('PATCH', strict.url, body, { 'if-none-match': '"other"' })).statusCode, 428);
  });

  t.test('a write whose If-Match does not match returns 412 and writes nothing', async (t) => {
    const { url, tag } = await make();
    const body = { name: 'changed', value: 9 };
    const malformed = [`w/${tag}`, `W/ ${tag}`, `x${tag}`, `${tag}x`, `"a"${tag}`, `x, ${tag}`, `'${tag}'`];
    for (const wrong of ['"other"', `W/${tag}`, tag.slice(1, -1), '', '"a", "b"', `"${tag}`, ...malformed]) {
      for (const method of ['PUT', 'PATCH', 'DELETE'] as const) {
        const answer = await send(method, url, method === 'DELETE' ? undefined : body, { 'if-match': wrong });
        t.equal(answer.statusCode, 412, `${method} ${wrong}`);
        t.equal(answer.json().code, 'precondition_failed');
      }
      t.match((await send('GET', url)).json(), { name: 'a', value: 1 });
    }
    const changed = await send('PUT', url, body, { 'if-match': `"other" , ,\t${tag} ,` });
    t.equal(changed.statusCode, 200);
    t.equal((await send('PATCH', url, { value: 10 }, { 'if-match': tag })).statusCode, 412, 'the tag has been used up');
    t.equal((await send('PATCH', url, { value: 10 }, { 'if-match': '*' })).statusCode, 200);
    t.equal((await send('PATCH', url, { value: 11 })).statusCode, 200, 'without a condition as ever');
    t.equal((await send('DELETE', url, undefined, { 'if-match': tag })).statusCode, 412);
    const last = (await send('GET', url)).headers['etag'] as string;
    t.equal((await send('DELETE', url, undefined, { 'if-match': last })).statusCode, 204);
    t.equal((await send('PATCH', url, { value: 1 }, { 'if-match': '*' })).statusCode, 404, 'there is no such record');
  });

  t.test('an If-Match of another record returns 412 before the write waits for the lock', async (t) => {
    // SQLite in memory has one connection, which the lock would hold.
    if (database === 'sqlite') return;
    for (const path of ['/counters', '/looking-up', '/strict']) {
      const { url, tag } = await make(path);
      const id = Number(url.split('/').at(-1));
      const em = orm.em.fork();
      await em.begin();
      await QuerySet.of(em, Counter).filter({ id }).entity({ lock: true });
      for (const method of ['PATCH', 'DELETE'] as const) {
        const body = method === 'PATCH' ? { value: 2 } : undefined;
        const answer = await send(method, url, body, { 'if-match': '"other"' });
        t.equal(answer.statusCode, 412, `${method} ${url}`);
      }
      const waiting = send('PATCH', url, { value: 2 }, { 'if-match': tag });
      await em.nativeUpdate(Counter, { id }, { value: 3 });
      await em.commit();
      const written = await waiting;
      t.equal(written.statusCode, 412, 'that one waited');
    }
  });

  t.test('a hidden record returns 404 and an invalid body 400, with any condition', async (t) => {
    const { url } = await make();
    await orm.em.fork().nativeUpdate(Counter, { id: Number(url.split('/').at(-1)) }, { owner: 'Bob' });
    for (const condition of ['*', '"other"']) {
      t.equal((await send('PATCH', url, { value: 1 }, { 'if-match': condition })).statusCode, 404);
      t.equal((await send('PATCH', url, { value: 'x' }, { 'if-match': condition })).statusCode, 400);
    }
  });

  t.test('a view may require the condition', async (t) => {
    const { url, tag } = await make('/strict');
    for (const method of ['PUT', 'PATCH', 'DELETE'] as const) {
      const answer = await send(method, url, method === 'DELETE' ? undefined : { name: 'b', value: 1 });
      t.equal(answer.statusCode, 428, method);
      t.equal(answer.json().code, 'precondition_required');
    }
    t.equal((await send('PATCH', url, { value: 2 }, { 'if-match': '"other"' })).statusCode, 412);
    const changed = await send('PATCH', url, { value: 2 }, { 'if-match': tag });
    t.equal(changed.statusCode, 200);
    t.equal((await send('DELETE', url, undefined, { 'if-match': changed.headers['etag'] as string })).statusCode, 204);
    const { create, update, destroy } = (await send('GET', '/strict/ways')).json();
    t.strictSame(
      [create, update, destroy].map(({ reasons }) => reasons),
      [[], [], []],
    );
    t.equal((await send('PATCH', url, { value: 2 })).statusCode, 404, 'a record that is not there lacks no condition');
    t.equal((await send('DELETE', url)).statusCode, 404);
  });

  t.test('the ETag is that of the response, including the changes of hooks', async (t) => {
    const { url, made } = await make('/representing', { name: 'low', value: 3 });
    t.equal(made.json().name, 'LOW');
    const retrieved = await send('GET', url);
    t.match(retrieved.json(), { name: 'LOW', value: 6 });
    const tag = retrieved.headers['etag'] as string;
    t.equal((await send('GET', url, undefined, { 'if-none-match': tag })).statusCode, 304);
    t.equal((await send('PATCH', url, { value: 4 }, { 'if-match': tag })).statusCode, 200);
    t.equal((await send('PATCH', url, { value: 5 }, { 'if-match': tag })).statusCode, 412);
  });

  t.test(
    'entities with a version have ETags unless the view disables them; others only if the view enables them',
    async (t) => {
      const { url, tag } = await make('/versioned', { name: 'a' });
      t.match(tag, STRONG);
      t.equal((await send('PATCH', url, { name: 'b' }, { 'if-match': tag })).statusCode, 200);
      t.equal((await send('PATCH', url, { name: 'c' }, { 'if-match': tag })).statusCode, 412);
      const untagged = await send('GET', url.replace('versioned', 'untagged'), undefined, { 'if-none-match': '*' });
      t.equal(untagged.statusCode, 200);
      t.equal(untagged.headers['etag'], undefined);
      const plain = await make('/plain');
      t.equal(plain.tag, undefined);
      const changes = { name: 'x', value: 2, big: null };
      for (const [method, body] of [
        ['PATCH', { value: 2 }],
        ['PUT', changes],
        ['DELETE', undefined],
      ] as const) {
        for (const condition of [
          { 'if-match': '"x"' },
          { 'if-match': 'W/"x", "y"' },
          { 'if-match': 'garbage' },
          { 'if-none-match': '*' },
        ]) {
          const refused = await send(method, plain.url, body, condition);
          t.match([refused.statusCode, refused.json()], [412, { code: 'precondition_failed' }], method);
        }
        t.equal((await send(method, '/plain/999999', body, { 'if-match': '"x"' })).statusCode, 404);
      }
      t.equal((await send('GET', plain.url)).json().value, 1, 'nothing is written');
      t.equal(
        (await send('PATCH', plain.url, { value: 'x' }, { 'if-match': '"x"' })).statusCode,
        400,
        'faults come first',
      );
      t.equal(
        (await send('PATCH', plain.url, { value: 2 }, { 'if-match': '*', 'if-none-match': '"x"' })).statusCode,
        200,
      );
      t.match(
        app.viewset.operations.find(({ path, method }) => path === '/plain/:pk' && method === 'PATCH')!.responses,
        { 412: {} },
      );
      t.equal((await send('DELETE', plain.url, undefined, { 'if-match': '*' })).statusCode, 204);
    },
  );

  const clients = { '/counters': 30, '/looking-up': 6, '/sending': 6 };
  for (const [path, count] of Object.entries(clients)) {
    t.test(`${path}: of many clients that each add one by If-Match, no addition is lost`, async (t) => {
      const { url } = await make(path, { name: 'count', value: 0 });
      await Promise.all(Array.from({ length: count }, () => addOne(app, url)));
      t.equal((await send('GET', url)).json().value, count);
    });
  }

  t.test('an override of retrieve that calls reply.send affects reads only', async (t) => {
    const { url, tag: none } = await make('/sending');
    t.equal(none, undefined, 'nobody knows what an override of retrieve would answer');
    const retrieved = await send('GET', url);
    const tag = retrieved.headers['etag'] as string;
    t.equal(retrieved.headers['x-of'], 'retrieve');
    t.equal((await send('PATCH', url, { value: 2 }, { 'if-match': '"other"' })).statusCode, 412);
    const changed = await send('PATCH', url, { value: 2 }, { 'if-match': tag });
    t.match(changed.json(), { value: 2 });
    t.notOk('x-of' in changed.headers);
    t.equal(changed.headers['x-content-type-options'], 'nosniff');
    t.notOk('etag' in changed.headers);
    t.equal((await send('DELETE', url, undefined, { 'if-match': tag })).statusCode, 412);
    const last = (await send('GET', url)).headers['etag'] as string;
    t.equal((await send('DELETE', url, undefined, { 'if-match': last })).statusCode, 204);
  });

  t.test('retrieve can use reply decorators and headers, also when it computes the ETag for a write', async (t) => {
    const { url } = await make('/decorated', { name: 'box', value: 2 });
    const retrieved = await send('GET', url);
    t.match(retrieved.json(), { name: 'a box', value: 6 });
    t.match(retrieved.headers, { 'x-label': 'box', 'set-cookie': ['label=box'] });
    const tag = retrieved.headers['etag'] as string;
    t.equal((await send('PATCH', url, { value: 4 }, { 'if-match': '"other"' })).statusCode, 412);
    const changed = await send('PATCH', url, { value: 4 }, { 'if-match': tag });
    t.equal(changed.statusCode, 200, changed.body);
    t.notOk('x-label' in changed.headers);
    t.notOk('set-cookie' in changed.headers);
    t.equal((await send('PATCH', url, { value: 5 }, { 'if-match': tag })).statusCode, 412);
  });

  t.test('a response without a record has no ETag', async (t) => {
    const read = { error: 422, elsewhere: 302, absent: 404, gone: 410 };
    const written = { error: 422, elsewhere: 412, absent: 412, gone: 412 };
    for (const [name, status] of Object.entries(written)) {
      const { url } = await make('/otherwise', { name });
      const retrieved = await send('GET', url);
      t.equal(retrieved.statusCode, read[name as keyof typeof read], retrieved.body);
      t.notOk('etag' in retrieved.headers);
      const changed = await send('PATCH', url, { value: 4 }, { 'if-match': '"any"' });
      t.equal(changed.statusCode, status, `${name}: ${changed.body}`);
      t.equal((await send('PATCH', url, { value: 4 }, { 'if-match': '*' })).statusCode, 200);
    }
    const usual = await make('/otherwise', { name: 'usual' });
    const tag = (await send('GET', usual.url)).headers['etag'] as string;
    t.equal((await send('PATCH', usual.url, { value: 4 }, { 'if-match': tag })).statusCode, 200);
  });
});

async function addOne(app: FastifyInstance, url: string): Promise<void> {
  for (;;) {
    const known = await app.inject(url);
    const answer = await app.inject({
      method: 'PATCH',
      url,
      headers: { 'if-match': known.headers['etag'] as string },
      payload: { value: known.json().value + 1 },
    });
    if (answer.statusCode === 200) return;
    if (answer.statusCode !== 412) throw new Error(`${answer.statusCode} ${answer.body}`);
  }
}

t.test(
  'without retrieve, a tag is of the form that an update shows, and never of one that no operation does',
  async (t) => {
    const orm = await openSqlite(t, { entities: [Counter, Versioned] });
    const shown = readShape(Counter, ['id', 'name']);
    const shapes = {
      read: { default: readShape(Counter, ['id', 'name', 'owner']), update: shown },
      write,
      etags: true,
    };
    class UpdatedViewSet extends ModelViewSet(Counter, { ...shapes, operations: ['create', 'update', 'destroy'] }) {}
    class GuardedViewSet extends ModelViewSet(Counter, {
      ...shapes,
      operations: ['update'],
      permissionClasses: [OfAda],
    }) {
      override checkObjectPermissions(request: FastifyRequest, entity: InferEntity<typeof Counter>) {
        return super.checkObjectPermissions(request, entity);
      }
    }
    class RemovedViewSet extends ModelViewSet(Counter, {
      read: { default: readShape(Counter, ['id', 'owner']), create: shown },
      write,
      etags: true,
      operations: ['create', 'destroy'],
    }) {}
    const router = new Router()
      .register('updated', UpdatedViewSet)
      .register('guarded', GuardedViewSet)
      .register('removed', RemovedViewSet);
    const app = await testApp(t, orm, [router]);
    await orm.em.fork().insert(Counter, { name: 'a', owner: 'secret' });
    const send = (method: 'PATCH' | 'DELETE', url: string, tag: string, payload: object = {}) =>
      app.inject({ method, url, headers: { 'if-match': tag }, ...(method === 'PATCH' ? { payload } : {}) });
    const tagOf = (record: object): string => entityTag(JSON.stringify(record));
    for (const path of ['updated', 'guarded']) {
      await orm.em.fork().nativeUpdate(Counter, { id: 1 }, { name: 'a', owner: path === 'guarded' ? 'Ada' : 'secret' });
      const owner = path === 'guarded' ? 'Ada' : 'secret';
      const guess = await send('PATCH', `/${path}/1`, tagOf({ id: 1, name: 'a', owner }), { name: 'b' });
      t.equal(guess.statusCode, 412, 'a form that the view shows to nobody');
      const changed = await send('PATCH', `/${path}/1`, tagOf({ id: 1, name: 'a' }), { name: 'b' });
      t.equal(changed.statusCode, 200, changed.body);
      t.equal(changed.headers.etag, tagOf({ id: 1, name: 'b' }));
      const again = await send('PATCH', `/${path}/1`, changed.headers.etag!, { name: 'c' });
      t.equal(again.statusCode, 200, again.body);
      t.equal((await send('PATCH', `/${path}/1`, changed.headers.etag!, { name: 'd' })).statusCode, 412);
    }
    const made = await app.inject({ method: 'POST', url: '/updated', payload: { name: 'a' } });
    t.notOk(made.headers.etag, 'a create that shows another form');
    for (const record of [
      { id: 1, owner: 'Ada' },
      { id: 1, name: 'c' },
    ]) {
      t.equal((await send('DELETE', '/removed/1', tagOf(record))).statusCode, 412);
    }
    t.equal((await send('DELETE', '/removed/1', '*')).statusCode, 204);
  },
);

t.test('a page of another origin reads tags, 304s and 412s', async (t) => {
  const orm = await openSqlite(t, { entities: [Counter, Versioned] });
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  const origin = 'https://shop.example';
  await app.register(cors, { origin: [origin], exposedHeaders: ['ETag'], methods: ['GET', 'HEAD', 'POST', 'PATCH'] });
  await app.register(viewset, { orm });
  await app.register(router().plugin);
  const made = await app.inject({ method: 'POST', url: '/counters', payload: { name: 'a' }, headers: { origin } });
  const [url, tag] = [`/counters/${made.json().id}`, made.headers['etag'] as string];
  const answers = await Promise.all([
    app.inject({ url, headers: { origin, 'if-none-match': tag } }),
    app.inject({ method: 'HEAD', url, headers: { origin } }),
    app.inject({ method: 'PATCH', url, headers: { origin, 'if-match': '"x"' }, payload: { value: 1 } }),
  ]);
  t.strictSame(
    answers.map(({ statusCode }) => statusCode),
    [304, 200, 412],
  );
  for (const { headers } of [made, ...answers]) {
    t.equal(headers['access-control-allow-origin'], origin);
    t.equal(headers['access-control-expose-headers'], 'ETag');
  }
});

t.test('the plan contains the conditional options of a view, and invalid ones fail at start', async (t) => {
  const orm = await openSqlite(t, { entities: [Counter, Versioned] });
  const app = await testApp(t, orm, [router()]);
  const planOf = (route: string, method: string) =>
    app.viewset.operations.find((plan) => plan.route === route && plan.method === method)!;
  const retrieve = planOf('counters-detail', 'GET');
  t.strictSame(
    retrieve.headerParameters.map(({ name }) => name),
    ['if-none-match'],
  );
  t.ok(retrieve.responses[412]);
  t.notOk(retrieve.responses[428]);
  t.ok(planOf('plain-detail', 'GET').responses[412]);
  t.ok(retrieve.responses[200]?.headers['etag']);
  t.match(retrieve.responses[304], { schema: undefined, headers: { etag: {} } });
  t.match(planOf('counters-detail', 'PATCH').headerParameters, [{ name: 'if-match', required: false }]);
  t.ok(planOf('counters-list', 'POST').responses[201]?.headers['etag']);
  t.ok(planOf('counters-detail', 'DELETE').responses[412]);
  t.notOk(planOf('counters-detail', 'DELETE').responses[428]);
  t.ok(planOf('strict-detail', 'PUT').responses[428]);
  t.match(planOf('strict-detail', 'PUT').headerParameters, [{ name: 'if-match', required: true }]);
  for (const method of ['POST', 'PATCH', 'DELETE']) {
    const plan = planOf('bulk-list', method);
    t.match(plan.headerParameters, [{ name: 'if-match', required: false }, { name: 'if-none-match' }]);
    t.ok(plan.responses[412]);
  }
  t.notOk(planOf('bulk-list', 'PATCH').responses[200]?.headers['etag']);
  t.strictSame(planOf('bulk-list', 'GET').headerParameters, []);
  t.strictSame(planOf('plain-list', 'POST').headerParameters, []);
  t.strictSame(planOf('plain-detail', 'PATCH').headerParameters, []);
  t.ok(planOf('plain-detail', 'PATCH').responses[412]);
  t.notOk(planOf('plain-list', 'GET').responses[412]);

  class Senseless extends ModelViewSet(Counter, { read, write, etags: false, requireIfMatch: true }) {}
  await t.rejects(testApp(t, orm, [new Router().register('senseless', Senseless)]), {
    message: /Senseless: requireIfMatch needs the ETags that "etags: false" switches off/,
  });
});
