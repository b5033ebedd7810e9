/** A key that the type of its column refuses names no record, wherever a request names one by it. */
import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import { MikroORM as PostgreSqlORM } from '@mikro-orm/postgresql';
import type { FastifyRequest } from 'fastify';
import t, { type Test } from 'tap';
import { action, ModelViewSet, readShape, Router, writeShape } from '../../../src/index.ts';
import { administrate, createPostgreSqlDatabase, skipPostgreSql } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const COLUMNS = { inet: '10.0.0.1', cidr: '10.0.0.0/8', macaddr: '08:00:2b:01:02:03', ltree: 'a.b' };

function entitiesOf(column: string) {
  const Host = defineEntity({
    name: 'Host',
    properties: {
      key: p.string().columnType(column).primary(),
      name: p.string().length(20),
      ports: () => p.oneToMany(Port).mappedBy('host'),
    },
  });
  const Port = defineEntity({
    name: 'Port',
    properties: {
      id: p.integer().primary(),
      number: p.integer(),
      host: () => p.manyToOne(Host),
      others: () => p.manyToMany(Host),
    },
  });
  return { Host, Port };
}

t.test('on PostgreSQL', { skip: skipPostgreSql() }, async (t) => {
  for (const [column, right] of Object.entries(COLUMNS)) {
    t.test(column, async (t) => {
      const clientUrl = await createPostgreSqlDatabase(t);
      await administrate(clientUrl, 'create extension if not exists ltree');
      const entities = entitiesOf(column);
      const orm = (await PostgreSqlORM.init({ clientUrl, entities: Object.values(entities) })) as unknown as MikroORM;
      t.teardown(() => orm.close(true));
      await orm.schema.create();
      await checkKeys(t, orm, entities, right);
    });
  }
});

async function checkKeys(
  t: Test,
  orm: MikroORM,
  { Host, Port }: ReturnType<typeof entitiesOf>,
  right: string,
): Promise<void> {
  const wrong = 'x y';
  const em = orm.em.fork();
  em.create(Host, { key: right, name: 'one' });
  await em.flush();
  const read = readShape(Host, ['key', 'name']);
  const write = writeShape(Host, ['name']);
  const operations = ['list', 'retrieve', 'update', 'destroy'] as const;
  class HostViewSet extends ModelViewSet(Host, { read, write, operations, bulk: 5 }) {
    plain = action({ detail: true }, (request) => this.getObject(request));
    locked = action({ detail: true, methods: ['post'] }, (request) => this.getObject(request));
  }
  class HookedViewSet extends ModelViewSet(Host, { read, write, operations }) {
    override async performUpdate(request: FastifyRequest, entity: never, data: never) {
      return super.performUpdate(request, entity, data);
    }
  }
  const ofPort = {
    read: readShape(Port, ['id', 'number'], { host: 'host.name' }),
    write: writeShape(Port, ['number', 'host', 'others'], {}, { optional: ['others'] }),
  };
  class PortViewSet extends ModelViewSet(Port, { ...ofPort, bulk: 5 }) {}
  class ShownPortViewSet extends ModelViewSet(Port, { ...ofPort, referenceViews: { host: HostViewSet } }) {}
  const router = new Router()
    .register('hosts', HostViewSet)
    .register('hooked', HookedViewSet)
    .register('hosts/:host/ports', PortViewSet, { basename: 'nested' })
    .register('ports', PortViewSet)
    .register('shown', ShownPortViewSet);
  const app = await testApp(t, orm, [router]);
  const send = (method: string, url: string, payload?: object) =>
    app.inject({ method: method as 'GET', url, ...(payload === undefined ? {} : { payload }) });
  const key = encodeURIComponent(right);
  const none = encodeURIComponent(wrong);

  t.test('a key in the path returns 404', async (t) => {
    const requests = [
      ['GET', ''],
      ['HEAD', ''],
      ['PATCH', '', { name: 'two' }],
      ['PUT', '', { name: 'two' }],
      ['GET', '/plain'],
      ['POST', '/locked'],
      ['GET', '/ports'],
      ['POST', '/ports', { number: 1 }],
      ['GET', '/ports/1'],
      ['PATCH', '/ports/1', { number: 2 }],
      ['DELETE', '/ports/1'],
      ['DELETE', ''],
    ] as const;
    for (const [method, rest, payload] of requests) {
      const answer = await send(method, `/hosts/${none}${rest}`, payload);
      t.equal(answer.statusCode, 404, `${method} ${rest}: ${answer.body}`);
      const allowed = method === 'GET' && rest === '' ? await send(method, `/hosts/${key}`) : undefined;
      if (allowed !== undefined) t.equal(allowed.statusCode, 200, allowed.body);
    }
    t.equal((await send('PATCH', `/hooked/${none}`, { name: 'two' })).statusCode, 404, 'with a hook');
    t.equal((await send('DELETE', `/hooked/${none}`)).statusCode, 404, 'with a hook');
  });

  t.test('OPTIONS permits the same as below a missing record', async (t) => {
    const absent = encodeURIComponent(absentKey(right));
    for (const rest of ['', '/ports', '/ports/1']) {
      const { statusCode, headers } = await send('OPTIONS', `/hosts/${none}${rest}`);
      t.equal(statusCode, 204, rest);
      const permitted = (await send('OPTIONS', `/hosts/${absent}${rest}`)).headers['permitted-operations'];
      t.equal(headers['permitted-operations'], permitted, rest);
    }
  });

  t.test('a reference in a body returns 400 with its path', async (t) => {
    const refusal = (path: string) => [{ in: 'body', path, message: 'must be the key of an existing Host' }];
    for (const view of ['ports', 'shown']) {
      const one = await send('POST', `/${view}`, { number: 1, host: wrong });
      t.match(one, { statusCode: 400 }, one.body);
      t.strictSame(one.json().details, refusal('/host'));
    }
    const several = await send('POST', '/ports', { number: 1, host: right, others: [right, wrong] });
    t.match(several, { statusCode: 400 }, several.body);
    t.strictSame(several.json().details, refusal('/others/1'));
    const bulk = await send('POST', '/ports', [
      { number: 1, host: right },
      { number: 2, host: wrong },
    ]);
    t.match(bulk, { statusCode: 400 }, bulk.body);
    t.strictSame(bulk.json().details, refusal('/1/host'));
    const { id } = (await send('POST', '/ports', { number: 1, host: right })).json();
    const changed = await send('PATCH', `/ports/${id}`, { host: wrong });
    t.match(changed, { statusCode: 400 }, changed.body);
    t.strictSame(changed.json().details, refusal('/host'));
    t.equal((await send('DELETE', `/ports/${id}`)).statusCode, 204);
  });

  t.test('a key of a bulk request returns 404 with its path', async (t) => {
    const changed = await send('PATCH', '/hosts', [
      { key: right, name: 'two' },
      { key: wrong, name: 'two' },
    ]);
    t.match(changed, { statusCode: 404 }, changed.body);
    t.strictSame(changed.json().details, [{ in: 'body', path: '/1/key', message: `names no record: ${wrong}` }]);
    const removed = await send('DELETE', `/hosts?pk=${key},${none}`);
    t.match(removed, { statusCode: 404 }, removed.body);
    t.strictSame(removed.json().details, [{ in: 'query', path: '/pk', message: `names no record: ${wrong}` }]);
    t.equal((await send('GET', `/hosts/${key}`)).json().name, 'one', 'nothing was written');
  });

  t.test('a value that the program compares wrongly stays a 500', async (t) => {
    class MistakenViewSet extends ModelViewSet(Host, { read, write, operations }) {
      override getQueryset(request: FastifyRequest) {
        return super.getQueryset(request).filter({ key: wrong });
      }
    }
    const mistaken = await testApp(t, orm, [new Router().register('mistaken', MistakenViewSet)]);
    const answer = await mistaken.inject(`/mistaken/${key}`);
    t.equal(answer.statusCode, 500, answer.body);
  });
}

function absentKey(right: string): string {
  return right.replace(/\w$/, (last) => (last === '0' ? '1' : '0'));
}
