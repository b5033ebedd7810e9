/** ours: the same endpoints as viewsets, with default settings; filters, permissions and authentication declared. */
import { type AccountUser, auth, LogEmailSender } from '@viewset/auth';
import {
  AllowAny,
  IsAuthenticated,
  IsSafeMethodOnly,
  many,
  ModelViewSet,
  readShape,
  Router,
  serverOptions,
  viewset,
  writeShape,
} from '@viewset/core';
import { fastify } from 'fastify';
import { Account, Basket, Draft, Line, Product } from '../data/entities.ts';
import { openOrm } from '../data/open-orm.ts';
import { type BenchServer, OPEN_ENDPOINTS, serve } from './serve.ts';

declare module '@viewset/core' {
  interface ViewsetTypes {
    user: AccountUser;
  }
}

class ProductViewSet extends ModelViewSet(Product, {
  read: readShape(Product, ['id', 'name', 'price', 'stock']),
  write: writeShape(Product, ['name', 'price', 'stock']),
  searchFields: ['name'],
  filterFields: { min_price: 'price__gte', max_price: 'price__lte', min_stock: 'stock__gte', name: 'name' },
  jsonLogicFields: ['id', 'name', 'price', 'stock'],
  orderingFields: { id: 'id', name: 'name', price: 'price', stock: 'stock' },
  permissionClasses: [IsSafeMethodOnly.or(IsAuthenticated)],
}) {}

class MemberProductViewSet extends ModelViewSet(Product, {
  read: readShape(Product, ['id', 'name', 'price', 'stock']),
  permissionClasses: [IsAuthenticated],
}) {}

class AccountViewSet extends ModelViewSet(Account, {
  read: readShape(Account, ['id', 'email', 'name', 'is_active'], { role: 'role.name' }),
  searchFields: ['name', 'email'],
  filterFields: { role: 'role__name', is_active: 'is_active' },
  orderingFields: { id: 'id', name: 'name' },
  permissionClasses: [IsSafeMethodOnly],
}) {}

class BasketViewSet extends ModelViewSet(Basket, {
  read: readShape(Basket, ['id', 'name'], {
    lines: many(readShape(Line, ['id', 'name', 'amount'])),
    labels: many('labels.name'),
  }),
  permissionClasses: [AllowAny],
}) {}

class StockViewSet extends ModelViewSet(Product, {
  read: readShape(Product, ['id', 'name', 'price', 'stock']),
  write: writeShape(Product, ['stock']),
  operations: ['update'],
  permissionClasses: [AllowAny],
}) {}

class DraftViewSet extends ModelViewSet(Draft, {
  read: readShape(Draft, ['id', 'name', 'price', 'stock']),
  write: writeShape(Draft, ['name', 'price', 'stock']),
  permissionClasses: [AllowAny],
}) {}

await serve(async ({ kind, location, secret }): Promise<BenchServer> => {
  const orm = await openOrm(kind, location);
  const app = fastify(serverOptions());
  app.addHook('onClose', async () => orm.close());
  await app.register(viewset, { orm });
  await app.register(auth, {
    account: Account,
    secret,
    urlPrefix: '/api/auth',
    nonAuthEndpoints: OPEN_ENDPOINTS,
    mailer: new LogEmailSender(app.log),
  });
  const router = new Router({ prefix: 'api' });
  router.register('products', ProductViewSet);
  router.register('members/products', MemberProductViewSet);
  router.register('accounts', AccountViewSet);
  router.register('baskets', BasketViewSet);
  router.register('drafts', DraftViewSet);
  router.register('stocks', StockViewSet);
  await app.register(router.plugin);
  return { app };
});
