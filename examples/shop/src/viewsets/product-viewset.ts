import {
  action,
  invalidParameter,
  IsAuthenticated,
  IsSafeMethodOnly,
  ModelViewSet,
  readShape,
  writeShape,
} from '@viewset/core';
import { Type } from 'typebox';
import { Product } from '../entities/product.ts';

/** Whoever is logged in may write; who may read, NON_AUTH_ENDPOINTS says. */
export class ProductViewSet extends ModelViewSet(Product, {
  read: readShape(Product, ['id', 'name', 'price', 'stock']),
  write: writeShape(Product, ['name'], {
    price: Type.Number({ exclusiveMinimum: 0 }),
    stock: Type.Optional(Type.Integer({ minimum: 0 })),
  }),
  searchFields: ['name'],
  filterFields: { min_price: 'price__gte', max_price: 'price__lte', min_stock: 'stock__gte', name: 'name' },
  jsonLogicFields: ['id', 'name', 'price', 'stock'],
  orderingFields: { id: 'id', name: 'name', price: 'price', stock: 'stock' },
  permissionClasses: [IsSafeMethodOnly.or(IsAuthenticated)],
}) {
  /** GET /api/products/featured: ten products that are in stock. */
  featured = action({}, async (request) => ({
    results: await this.rows(this.getQueryset(request).filter({ stock__gt: 0 }).slice(0, 10)),
  }));

  /** GET /api/products/search?q=chair: a page of what has the keyword in its name. */
  search = action({ querystring: Type.Object({ q: Type.Optional(Type.String()) }) }, async (request) => {
    const { q: keyword } = request.query;
    if (!keyword) throw invalidParameter('q', 'must be a keyword');
    const found = this.getQueryset(request).filter({ name__icontains: keyword });
    return { ...(await this.paginate(request, found)), keyword };
  });
}
