/** One table whose pages are counted in three ways, for `bench/counting.ts`. */
import { ModelViewSet, readShape, Router, serverOptions, viewset } from '@viewset/core';
import { fastify } from 'fastify';
import { Product } from '../data/entities.ts';
import { openOrm } from '../data/open-orm.ts';
import { type BenchServer, serve } from './serve.ts';

const declared = {
  read: readShape(Product, ['id', 'name', 'price', 'stock']),
  filterFields: { min_price: 'price__gte' },
} as const;

class ExactViewSet extends ModelViewSet(Product, declared) {}
class EstimatedViewSet extends ModelViewSet(Product, { ...declared, count: 'estimated' }) {}
class UncountedViewSet extends ModelViewSet(Product, { ...declared, count: 'none' }) {}

await serve(async ({ kind, location }): Promise<BenchServer> => {
  const orm = await openOrm(kind, location);
  const app = fastify(serverOptions());
  app.addHook('onClose', async () => orm.close());
  await app.register(viewset, { orm });
  const router = new Router();
  router.register('exact', ExactViewSet).register('estimated', EstimatedViewSet).register('none', UncountedViewSet);
  await app.register(router.plugin);
  return { app };
});
