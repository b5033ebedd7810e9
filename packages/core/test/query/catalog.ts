import { defineEntity, p, type InferEntity, type MikroORM } from '@mikro-orm/core';
import { fieldPath, type FieldPath } from '../../src/fields/field-path.ts';
import { valueReader } from '../../src/fields/value-reader.ts';
import type { Projection } from '../../src/query/language/projection.ts';

export const Country = defineEntity({
  name: 'Country',
  properties: { code: p.string().length(2).primary(), name: p.string() },
});

export const Maker = defineEntity({
  name: 'Maker',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    country: () => p.manyToOne(Country).nullable(),
    products: () => p.oneToMany(Product).mappedBy('maker'),
  },
});

export const Tag = defineEntity({
  name: 'Tag',
  properties: {
    id: p.integer().primary(),
    label: p.string(),
    rank: p.integer().default(0),
    products: () => p.manyToMany(Product).mappedBy('tags'),
  },
});

/** One field of every kind, under names that differ from their columns here and there. */
export const Product = defineEntity({
  name: 'Product',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    note: p.text().nullable().fieldName('remark'),
    price: p.decimal('number').precision(10).scale(2).nullable(),
    cost: p.decimal('string').precision(20).scale(4).nullable(),
    stock: p.integer().default(0),
    shelf: p.smallint().nullable(),
    sold: p.bigint().nullable(),
    weight: p.double().nullable(),
    height: p.float().nullable(),
    active: p.boolean().default(true),
    color: p.enum(['red', 'green', 'blue'] as const).nullable(),
    added: p.datetime().nullable(),
    day: p.date().nullable(),
    opens: p.time().nullable(),
    serial: p.uuid().nullable(),
    data: p.json<{ readonly a?: number }>().nullable(),
    image: p.blob().nullable(),
    maker: () => p.manyToOne(Maker).nullable(),
    origin: () => p.manyToOne(Country).ref().nullable(),
    parent: () => p.manyToOne(Product).nullable(),
    children: () => p.oneToMany(Product).mappedBy('parent'),
    tags: () => p.manyToMany(Tag),
  },
});

export type ProductEntity = InferEntity<typeof Product>;

export const entities = [Country, Maker, Tag, Product];

/** A projection of fields by path, each as the entity would hold it. */
export function pick(
  orm: MikroORM,
  entity: typeof Product | typeof Maker | typeof Tag,
  ...names: string[]
): Projection<unknown[]> {
  const meta = orm.getMetadata().get(entity as typeof Product);
  const paths = names.map((name) => fieldPath(meta, name, '.'));
  const readers = paths.map((path) => valueReader(path, orm.em.getPlatform()));
  return {
    paths,
    readRow: (row) => row.map((raw, index) => (raw === null ? null : (readers[index]?.(raw) ?? raw))),
    readEntity: (entity) => paths.map((path) => memberAt(entity, path)),
    populate: [
      ...new Set(
        paths.filter(({ steps }) => steps.length > 0).map(({ steps }) => steps.map(({ name }) => name).join('.')),
      ),
    ],
  };
}

function memberAt(entity: object, { steps, property }: FieldPath): unknown {
  let value: unknown = entity;
  for (const { name } of [...steps, property]) value = (value as Record<string, unknown> | null)?.[name] ?? null;
  return value;
}
