/** What an override calls of its base answers with promises, also where the driver answers at once: a failure is caught on them. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import t from 'tap';
import { ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Shelf = defineEntity({
  name: 'Shelf',
  properties: {
    id: p.integer().primary(),
    code: p.string().length(20).unique(),
    boxes: () => p.oneToMany(Box).mappedBy('shelf'),
  },
});
const Box = defineEntity({
  name: 'Box',
  properties: { id: p.integer().primary(), shelf: () => p.manyToOne(Shelf) },
});

let settled: string[] = [];
function noting<Result>(who: string, answer: Promise<Result>): Promise<Result> {
  return answer
    .then((result) => {
      settled.push(`${who} succeeded`);
      return result;
    })
    .catch((error: unknown) => {
      if (settled.length === 0) settled.push(`${who} failed`);
      throw error;
    })
    .finally(() => settled.push('settled'));
}

const options = { read: readShape(Shelf, ['id', 'code']), write: writeShape(Shelf, ['code']) };
/** Its writes are one statement. */
class ShelfViewSet extends ModelViewSet(Shelf, options) {
  override retrieve(request: FastifyRequest, reply: FastifyReply) {
    return noting('retrieve', super.retrieve(request, reply));
  }
  override create(request: FastifyRequest, reply: FastifyReply) {
    return noting('create', super.create(request, reply));
  }
  override update(request: FastifyRequest, reply: FastifyReply) {
    return noting('update', super.update(request, reply));
  }
  override destroy(request: FastifyRequest, reply: FastifyReply) {
    return noting('destroy', super.destroy(request, reply));
  }
}
class HookedViewSet extends ModelViewSet(Shelf, options) {
  override performCreate(request: FastifyRequest, data: never) {
    return noting('create', super.performCreate(request, data));
  }
  override performUpdate(request: FastifyRequest, entity: never, data: never) {
    return noting('update', super.performUpdate(request, entity, data));
  }
  override performDestroy(request: FastifyRequest, entity: never) {
    return noting('destroy', super.performDestroy(request, entity));
  }
}

forEachDatabase(t, { entities: [Shelf, Box] }, async (t, orm) => {
  const em = orm.em.fork();
  for (const code of ['a', 'b']) {
    em.create(Shelf, { code });
    await em.flush();
  }
  em.create(Box, { shelf: 1 });
  await em.flush();
  const app = await testApp(t, orm, [new Router().register('shelves', ShelfViewSet).register('hooked', HookedViewSet)]);
  const sent = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
    settled = [];
    const { statusCode } = await app.inject({ method, url, ...(payload && { payload }) });
    return [statusCode, ...settled];
  };
  for (const path of ['/shelves', '/hooked']) {
    // The hooks are not called for a record that is not there.
    const noted = (...notes: string[]): string[] => (path === '/shelves' ? notes : []);
    t.strictSame(await sent('GET', `${path}/1`), [200, ...noted('retrieve succeeded', 'settled')]);
    t.strictSame(await sent('GET', `${path}/99`), [404, ...noted('retrieve failed', 'settled')]);
    t.strictSame(await sent('PATCH', `${path}/99`, { code: 'z' }), [404, ...noted('update failed', 'settled')]);
    t.strictSame(await sent('DELETE', `${path}/99`), [404, ...noted('destroy failed', 'settled')]);
    t.strictSame(await sent('POST', path, { code: 'a' }), [409, 'create failed', 'settled']);
    t.strictSame(await sent('PATCH', `${path}/2`, { code: 'a' }), [409, 'update failed', 'settled']);
    t.strictSame(await sent('PATCH', `${path}/2`, { code: 'c' }), [200, 'update succeeded', 'settled']);
    t.strictSame(await sent('DELETE', `${path}/1`), [409, 'destroy failed', 'settled']);
  }
});
