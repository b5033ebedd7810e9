/** ours: the same endpoints as viewsets, with default settings; filters, permissions and authentication declared. */
import {
  AllowAny,
  IsAuthenticated,
  IsSafeMethodOnly,
  many,
  ModelViewSet,
  readShape,
  Router,
  writeShape,
} from '@viewset/core';
import { Account, Basket, Draft, Line, Product } from '../data/entities.ts';
import { type BenchServer, serve } from './serve.ts';
import { withPlugins } from './with-plugins.ts';

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

await serve(async (settings): Promise<BenchServer> => {
  const app = await withPlugins(settings);
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
