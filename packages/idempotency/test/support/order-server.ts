/** Serves orders from a process of its own, on the database of DATABASE_URL. Tells its address to the process that started it. */
import { defineEntity, p } from '@mikro-orm/core';
import fastify from 'fastify';
import { fileURLToPath } from 'node:url';
import { action, ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import { IdempotencyKeys, IdempotencyRecord } from '../../src/index.ts';

export const Order = defineEntity({
  name: 'Order',
  tableName: 'orders',
  properties: { id: p.integer().primary(), item: p.string().length(50) },
});

const write = writeShape(Order, ['item']);
class OrderViewSet extends ModelViewSet(Order, {
  read: readShape(Order, ['id', 'item']),
  write,
  idempotency: 'required',
}) {
  /** POST /orders/slow: never ends by itself. */
  slow = action({ methods: ['post'] }, async (request) => {
    await request.em.insert(Order, { item: 'slow' });
    process.send?.('is writing');
    return new Promise<never>(() => {});
  });
}

/** Opens the database of a URL. */
export async function openOrders(url: string) {
  const entities = [Order, IdempotencyRecord];
  if (url.startsWith('postgres')) {
    const { MikroORM } = await import('@mikro-orm/postgresql');
    return MikroORM.init({ clientUrl: url, entities, pool: { max: 8 } });
  }
  if (url.startsWith('mongodb')) {
    const [{ MikroORM }, { MongoExtension }] = await Promise.all([
      import('@mikro-orm/mongodb'),
      import('@viewset/mongodb'),
    ]);
    return MikroORM.init({ clientUrl: url, entities, extensions: [MongoExtension] });
  }
  const { MikroORM } = await import('@mikro-orm/sqlite');
  return MikroORM.init({ dbName: url, entities });
}

// A test imports this file, and starts it as a program.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const app = fastify(serverOptions());
  const idempotency = new IdempotencyKeys({ account: () => 'everybody' });
  await app.register(viewset, { orm: await openOrders(process.env['DATABASE_URL']!), idempotency });
  await app.register(new Router().register('orders', OrderViewSet).plugin);
  process.send?.(await app.listen({ port: 0 }));
}
