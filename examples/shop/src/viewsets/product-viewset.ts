import {
  action,
  IsAuthenticated,
  IsSafeMethodOnly,
  ModelViewSet,
  type OutputOf,
  type PageEnvelope,
  readShape,
  writeShape,
} from '@viewset/core';
import { Type } from 'typebox';
import { Product } from '../entities/product.ts';

const read = readShape(Product, ['id', 'name', 'price', 'stock']);
const Found = Type.Object({
  count: Type.Integer({ minimum: 0, description: 'The number of records on all pages' }),
  next: Type.Boolean({ description: 'True if a next page exists' }),
  previous: Type.Boolean({ description: 'True if a previous page exists' }),
  results: Type.Array(read.schema, { description: 'The records of this page' }),
  keyword: Type.String({ description: 'The keyword that was looked for' }),
});

/** Logged-in users may write; NON_AUTH_ENDPOINTS decides who may read. */
export class ProductViewSet extends ModelViewSet(Product, {
  read,
  write: writeShape(Product, ['name'], {
    price: Type.Number({ exclusiveMinimum: 0 }),
    stock: Type.Optional(Type.Integer({ minimum: 0 })),
  }),
  searchFields: ['name'],
  filterFields: { min_price: 'price__gte', max_price: 'price__lte', min_stock: 'stock__gte', name: 'name' },
  jsonLogicFields: ['id', 'name', 'price', 'stock'],
  orderingFields: { id: 'id', name: 'name', price: 'price', stock: 'stock' },
  permissionClasses: [IsSafeMethodOnly.or(IsAuthenticated)],
  description: 'What the shop sells.',
  fieldWords: {
    name: { description: 'The name, as customers see it', examples: ['Oak Chair'] },
    price: { description: 'The price of one piece', examples: [89] },
    stock: { description: 'Pieces that can be sold', examples: [7] },
  },
}) {
  /** GET /api/products/featured: ten products that are in stock. */
  featured = action(
    {
      summary: 'List the featured products',
      description: 'At most ten products that are in stock.',
      listParameters: false,
      response: Type.Object({ results: Type.Array(read.schema, { maxItems: 10 }) }),
    },
    async (request) => ({
      results: await this.rows(this.getQueryset(request).filter({ stock__gt: 0 }).slice(0, 10)),
    }),
  );

  /** GET /api/products/search?q=chair: a page of the products whose name contains the keyword. */
  search = action(
    {
      summary: 'Search the products by one keyword',
      description: 'A page of the products that have the keyword in their names, narrowed and ordered like the list.',
      querystring: Type.Object({ q: Type.String({ minLength: 1, description: 'The keyword' }) }),
      response: Found,
    },
    async (request) => {
      const { q: keyword } = request.query;
      const named = this.getQueryset(request).filter({ name__icontains: keyword });
      const page = await this.paginate(request, this.filterQueryset(request, named));
      return { ...(page as PageEnvelope<OutputOf<typeof read>>), keyword };
    },
  );
}
