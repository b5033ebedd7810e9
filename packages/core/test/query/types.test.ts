/** What must compile, and what must not: tsc is the test, and the run proves that the names are right at run time too. */
import { MikroORM } from '@mikro-orm/sqlite';
import type { EntityManager } from '@mikro-orm/core';
import t from 'tap';
import type { FieldName, PathOf, RelationName } from '../../src/fields/field-name.ts';
import { matching } from '../../src/query/language/condition.ts';
import type { LookupName, OrderName } from '../../src/query/language/lookup-name.ts';
import { QuerySet } from '../../src/query/queryset.ts';
import { entities, Product, type ProductEntity } from './catalog.ts';

/** The type itself, in both directions. */
type Same<A, B> = 0 extends 1 & A ? false : [A] extends [B] ? ([B] extends [A] ? true : false) : false;

const names: Same<RelationName<ProductEntity>, 'maker' | 'origin' | 'parent' | 'children' | 'tags'> = true;
const fields: Same<Extract<FieldName<ProductEntity>, 'children' | 'tags' | 'maker' | 'data'>, 'maker' | 'data'> = true;
const paths: readonly PathOf<ProductEntity, '.'>[] = [
  'name',
  'maker',
  'maker.country.name',
  'parent.maker.country.code',
  'origin.name',
];
const lookups: readonly LookupName<ProductEntity>[] = [
  'name',
  'name__icontains',
  'maker__country__name__iexact',
  'tags__rank__gte',
  'tags',
  'active__ne',
  'added__range',
  'weight__lt',
  'height__range',
];
const orders: readonly OrderName<ProductEntity>[] = ['name', '-price', 'maker__name', '-maker__country__name'];
// @ts-expect-error misspelt
const wrongField: FieldName<ProductEntity> = 'nmae';
// @ts-expect-error a relation to many has no single value
const manyPath: PathOf<ProductEntity, '.'> = 'tags.label';
// @ts-expect-error misspelt beyond a relation
const wrongPath: PathOf<ProductEntity, '.'> = 'maker.nmae';
// @ts-expect-error no such lookup
const wrongLookup: LookupName<ProductEntity> = 'price__gte2';
// @ts-expect-error a number contains no text
const unfit: LookupName<ProductEntity> = 'stock__icontains';
// @ts-expect-error a boolean has no order
const unordered: LookupName<ProductEntity> = 'active__gt';
// @ts-expect-error there is no order by a relation to many
const manyOrder: OrderName<ProductEntity> = 'tags__label';

const right = (em: EntityManager) => {
  const products = QuerySet.of(em, Product);
  return [
    products.filter({
      price__gte: 10,
      name__icontains: 'tea',
      active: true,
      color__in: ['red', null],
      added__lt: new Date(),
    }),
    products.filter({
      sold__range: [1n, 2n],
      stock__range: [1, 2],
      maker__isnull: true,
      note: null,
      maker: null,
      maker__name: null,
    }),
    products.filter({
      maker: 3,
      maker__country: 'de',
      origin: 'de',
      tags__label__startswith: 'a',
      tags__in: [1, 2],
      children__name: 'x',
    }),
    products.exclude({ name: 'x' }).orderBy('-price', 'maker__name').slice(0, 10),
    products.matching({ maker: { name: 'x' } }),
    products.where(matching<ProductEntity>(products.meta, { children: { tags: { products: { name: 'x' } } } })),
  ];
};

/** MikroORM finds these mistakes itself, when the query runs. */
const wrongMatching = (em: EntityManager) => {
  const { meta } = QuerySet.of(em, Product);
  return [
    // @ts-expect-error misspelt beyond three relations
    () => matching<ProductEntity>(meta, { children: { tags: { products: { nmae: 'x' } } } }),
    // @ts-expect-error a value of another type
    () => matching<ProductEntity>(meta, { tags: { rank: 'x' } }),
    () => matching(meta, { whatever: 'is said without the type' }),
  ];
};

const wrong = (em: EntityManager) => {
  const products = QuerySet.of(em, Product);
  return [
    // @ts-expect-error misspelt
    () => products.filter({ nmae: 'x' }),
    // @ts-expect-error misspelt beyond a relation
    () => products.filter({ maker__nmae: 'x' }),
    // @ts-expect-error misspelt beyond two relations
    () => products.filter({ maker__country__nmae: 'x' }),
    // @ts-expect-error no such lookup
    () => products.filter({ price__gte2: 1 }),
    // @ts-expect-error a number contains no text
    () => products.filter({ stock__icontains: 'x' }),
    // @ts-expect-error a value of another type
    () => products.filter({ stock__gte: '1' }),
    // @ts-expect-error a value of another type, beyond a relation
    () => products.filter({ maker__name: 1 }),
    // @ts-expect-error a list is needed
    () => products.filter({ stock__in: 1 }),
    // @ts-expect-error two values are needed
    () => products.filter({ stock__range: [1] }),
    // @ts-expect-error true or false is needed
    () => products.filter({ note__isnull: 'true' }),
    // @ts-expect-error no color
    () => products.filter({ color: 'pink' }),
    // @ts-expect-error it is never NULL
    () => products.filter({ name: null }),
    // @ts-expect-error undefined is no value
    () => products.filter({ name: undefined }),
    // @ts-expect-error misspelt
    () => products.exclude({ nmae: 'x' }),
    // @ts-expect-error misspelt
    () => products.orderBy('-nmae'),
    // @ts-expect-error there is no order by a relation to many
    () => products.orderBy('tags__label'),
  ];
};

t.test('code that compiles also runs', async (t) => {
  t.ok(names && fields && paths.length + lookups.length + orders.length > 0);
  t.ok([wrongField, manyPath, wrongPath, wrongLookup, unfit, unordered, manyOrder].length > 0);
  const orm = new MikroORM({ dbName: ':memory:', entities });
  t.doesNotThrow(() => right(orm.em));
  t.equal(wrongMatching(orm.em).length, 3);
});

t.test('code that does not compile is rejected at run time too', async (t) => {
  const orm = new MikroORM({ dbName: ':memory:', entities });
  const harmless = /name: null/;
  for (const attempt of wrong(orm.em)) {
    if (!harmless.test(attempt.toString())) {
      t.throws(attempt, { name: /ImproperlyConfigured|FieldValueError/ }, attempt.toString());
    }
  }
});
