/** Hooks and permissions of several records that refuse, fail with nothing, or stand in a transaction of the application's own. */
import type { InferEntity } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { ModelViewSet, Permission, readShape, Router, writeShape } from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';
import { fillTags, SHELVES, Tag } from '../../support/shelves.ts';

type TagRecord = InferEntity<typeof Tag>;
const options = { read: readShape(Tag, ['id', 'name']), write: writeShape(Tag, ['name', 'owner']), bulk: 5 };

const asked: string[] = [];
class NotGreen extends Permission {
  override async hasObjectPermission(_request: FastifyRequest, _view: unknown, tag: object) {
    asked.push((tag as TagRecord).name);
    return (tag as TagRecord).name !== 'green';
  }
}
class GuardedTags extends ModelViewSet(Tag, { ...options, permissionClasses: [NotGreen] }) {
  override async performUpdate(request: FastifyRequest, tag: TagRecord, data: object) {
    asked.push('written');
    return super.performUpdate(request, tag, data);
  }
}
class PlainTags extends ModelViewSet(Tag, options) {}

/** Fails with a value that is no error, once the first record was written. */
function failing(value: unknown, later: boolean) {
  const fail = (): Promise<never> => {
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- hooks of users do
    if (later) return Promise.reject(value);
    throw value;
  };
  return class FailingTags extends ModelViewSet(Tag, {
    ...options,
    validate: (data) => (data.owner === 'judge' ? fail() : undefined),
  }) {
    override async performCreate(request: FastifyRequest, data: { name: string }) {
      const tag = await super.performCreate(request, data);
      return data.name === 'last' ? fail() : tag;
    }
    override async performUpdate(request: FastifyRequest, tag: TagRecord, data: { name?: string }) {
      const changed = await super.performUpdate(request, tag, data);
      return data.name === 'last' ? fail() : changed;
    }
    override async performDestroy(request: FastifyRequest, tag: TagRecord) {
      await super.performDestroy(request, tag);
      if (tag.name === 'blue') await fail();
    }
  };
}

forEachDatabase(t, { entities: SHELVES }, async (t, orm) => {
  const names = async () => (await orm.em.fork().findAll(Tag, { orderBy: { id: 1 } })).map(({ name }) => name);
  const before = ['red', 'blue', 'green'];
  t.beforeEach(() => fillTags(orm));

  t.test('the permission of every record is checked before the first write', async (t) => {
    const app = await testApp(t, orm, [new Router().register('tags', GuardedTags)]);
    asked.length = 0;
    const payload = [101, 102, 103].map((id) => ({ id, name: `n${id}` }));
    t.equal((await app.inject({ method: 'PATCH', url: '/tags', payload })).statusCode, 401);
    t.strictSame(asked, ['red', 'blue', 'green']);
    t.equal((await app.inject({ method: 'DELETE', url: '/tags?pk=101,102,103' })).statusCode, 401);
    t.strictSame(await names(), before);
  });

  for (const value of [undefined, null, 0, '']) {
    for (const later of [false, true]) {
      await t.test(
        `a hook that ${later ? 'rejects with' : 'throws'} ${JSON.stringify(value)} returns 500 and writes nothing`,
        async (t) => {
          const app = await testApp(t, orm, [new Router().register('tags', failing(value, later))]);
          const last = [{ name: 'first' }, { name: 'last' }];
          const judged = [{ name: 'first' }, { name: 'x', owner: 'judge' }];
          const keyed = (bodies: object[]) => bodies.map((body, index) => ({ id: 101 + index, ...body }));
          for (const [method, url, payload] of [
            ['POST', '/tags', last],
            ['POST', '/tags', judged],
            ['POST', '/tags', last[1]],
            ['POST', '/tags', judged[1]],
            ['PATCH', '/tags', keyed(last)],
            ['PATCH', '/tags', keyed(judged)],
            ['PATCH', '/tags/101', last[1]],
            ['PATCH', '/tags/101', judged[1]],
            ['DELETE', '/tags?pk=101,102', undefined],
            ['DELETE', '/tags/102', undefined],
          ] as const) {
            const answer = await app.inject({ method, url, ...(payload && { payload }) });
            t.equal(answer.statusCode, 500, `${method} ${url} ${JSON.stringify(payload)} ${answer.body}`);
            t.equal(answer.json().code, 'internal_error');
          }
          t.strictSame(await names(), before);
        },
      );
    }
  }

  t.test('in a transaction of the application, which decides', async (t) => {
    const app = await testApp(t, orm, [new Router().register('tags', PlainTags)], {
      before: (made) => {
        made.addHook('preHandler', async (request) => request.em.begin());
        made.addHook('onSend', async (request) => {
          if (request.headers['x-keep'] === undefined) await request.em.rollback();
          else await request.em.commit();
        });
      },
    });
    const send = async (keep: boolean, method: 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) =>
      (await app.inject({ method, url, ...(payload && { payload }), headers: keep ? { 'x-keep': '1' } : {} }))
        .statusCode;
    const patch = [{ id: 103, name: 'lime' }];
    t.equal(await send(false, 'POST', '/tags', [{ name: 'a' }]), 201);
    t.equal(await send(false, 'PATCH', '/tags', patch), 200);
    t.equal(await send(false, 'DELETE', '/tags?pk=101,102'), 204);
    t.strictSame(await names(), before);
    t.equal(await send(false, 'POST', '/tags', [{ name: 'a' }, { name: 'red' }]), 409);
    t.strictSame(await names(), before);
    t.equal(await send(true, 'POST', '/tags', [{ name: 'a' }, { name: 'red' }]), 409, 'its own part is undone');
    t.equal(await send(true, 'PATCH', '/tags', patch), 200);
    t.equal(await send(true, 'DELETE', '/tags?pk=101'), 204);
    t.strictSame(await names(), ['blue', 'lime']);
  });
});
