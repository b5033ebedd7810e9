/** One table under three paginators, for `pnpm bench scale`. */
import {
  CursorPagination,
  LimitOffsetPagination,
  ModelViewSet,
  readShape,
  Router,
  serverOptions,
  viewset,
} from '@viewset/core';
import { fastify } from 'fastify';
import { Product } from '../data/entities.ts';
import { openOrm } from '../data/open-orm.ts';
import { type BenchServer, serve } from './serve.ts';

const product = readShape(Product, ['id', 'name', 'price', 'stock']);
const orderingFields = { id: 'id', price: 'price' } as const;

class NumberedViewSet extends ModelViewSet(Product, { read: product, orderingFields }) {}

class OffsetViewSet extends ModelViewSet(Product, {
  read: product,
  orderingFields,
  pagination: LimitOffsetPagination,
}) {}

class CursorViewSet extends ModelViewSet(Product, {
  read: product,
  orderingFields,
  pagination: CursorPagination,
  // Large pages reach a deep position in few steps; the measured page has 10 records.
  maxPageSize: 10_000,
}) {}

await serve(async ({ kind, location, secret }): Promise<BenchServer> => {
  const orm = await openOrm(kind, location);
  const app = fastify(serverOptions());
  app.addHook('onClose', async () => orm.close());
  await app.register(viewset, { orm, secret });
  const router = new Router();
  router.register('numbered', NumberedViewSet);
  router.register('offset', OffsetViewSet);
  router.register('cursor', CursorViewSet);
  await app.register(router.plugin);
  return { app };
});
