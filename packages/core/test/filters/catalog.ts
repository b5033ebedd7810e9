import { defineEntity, p, type MikroORM } from '@mikro-orm/core';
import { fieldPath } from '../../src/fields/field-path.ts';
import type { FilterTarget } from '../../src/filters/filter.ts';
import { QueryParameters } from '../../src/http/parameters.ts';
import type { Projection } from '../../src/query/language/projection.ts';
import { QuerySet } from '../../src/query/queryset.ts';

export const Brand = defineEntity({
  name: 'Brand',
  properties: { id: p.integer().primary(), name: p.string().length(50), country: p.string().length(2).nullable() },
});

export const Item = defineEntity({
  name: 'Item',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(200),
    note: p.text().nullable(),
    price: p.decimal('number').precision(10).scale(2),
    stock: p.integer().default(0),
    serial: p.bigint(),
    active: p.boolean().default(true),
    kind: p.enum(['tea', 'ware'] as const),
    made: p.datetime(6).nullable(),
    rating: p.double().nullable(),
    data: p.json<object>().nullable(),
    brand: () => p.manyToOne(Brand).nullable(),
  },
});

export const entities = [Brand, Item];

const ITEMS = [
  { id: 1, name: 'Green Tea', price: 10, stock: 5, kind: 'tea', brand: 1, rating: 4.5, note: 'Élan 100%' },
  { id: 2, name: 'Black Tea', price: 12.5, stock: 0, kind: 'tea', brand: 1, rating: null, note: "O'Neill" },
  { id: 3, name: 'Tea Pot', price: 49.99, stock: 3, kind: 'ware', brand: 2, rating: 3, note: 'a_b\\c' },
  { id: 4, name: 'Cup', price: 5, stock: 40, kind: 'ware', brand: 2, rating: 4.5, note: null },
  { id: 5, name: 'Spoon', price: 5, stock: 7, kind: 'ware', brand: null, rating: null, note: 'green and black' },
] as const;

/** Five items of two brands; the third brand has none. */
export async function fillCatalog(orm: MikroORM): Promise<void> {
  const em = orm.em.fork();
  em.create(Brand, { id: 1, name: 'Élan', country: 'FR' });
  em.create(Brand, { id: 2, name: 'Žen', country: null });
  for (const item of ITEMS) {
    const made = item.id === 5 ? null : new Date(Date.UTC(2024, 0, item.id));
    em.create(Item, {
      ...item,
      made,
      active: item.id !== 4,
      serial: 9_007_199_254_740_990n + BigInt(item.id),
      data: null,
    });
  }
  await em.flush();
}

export function items(orm: MikroORM) {
  return QuerySet.of(orm.em.fork(), Item);
}

/** What a view over Item declares to its filters. */
export function target(orm: MikroORM, declared: Partial<FilterTarget> = {}): FilterTarget {
  const meta = orm.getMetadata().get(Item);
  return { name: 'ItemViewSet', meta, searchFields: [], filterFields: {}, orderingFields: {}, ...declared };
}

/** The ids of a query set's records, in its order. */
export async function ids<E extends object>(queryset: QuerySet<E>): Promise<number[]> {
  return await queryset.rows(idOnly(queryset));
}

export function idOnly<E extends object>(queryset: QuerySet<E>): Projection<number> {
  return {
    paths: [fieldPath(queryset.meta, 'id', '.')],
    readRow: ([id]) => Number(id),
    readEntity: (entity) => (entity as { id: number }).id,
    populate: [],
  };
}

/** What Fastify parses of a query string. */
export function query(text: string): QueryParameters {
  const values: Record<string, string | string[]> = Object.create(null) as Record<string, never>;
  for (const [name, value] of new URLSearchParams(text)) {
    const earlier = values[name];
    values[name] = earlier === undefined ? value : [earlier, value].flat();
  }
  return new QueryParameters(values);
}
