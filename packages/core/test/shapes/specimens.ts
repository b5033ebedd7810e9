import { defineEntity, p, Type as MappedType } from '@mikro-orm/core';

/** Stored as "x,y": what its values look like, only the application knows. */
export class PointType extends MappedType<{ x: number; y: number }, string> {
  override convertToDatabaseValue(value: { x: number; y: number } | null): string {
    return (value && `${value.x},${value.y}`) as string;
  }

  override convertToJSValue(value: string | null): { x: number; y: number } {
    const [x, y] = value?.split(',').map(Number) ?? [];
    return (value && { x, y }) as { x: number; y: number };
  }

  override getColumnType(): string {
    return 'varchar(50)';
  }
}

export const Country = defineEntity({
  name: 'Country',
  properties: {
    code: p.string().length(2).primary(),
    name: p.string().length(50).unique(),
  },
});

export const Maker = defineEntity({
  name: 'Maker',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(50).unique(),
    motto: p.text().nullable(),
    country: () => p.manyToOne(Country).nullable(),
  },
});

/** One property of each kind that a column can be of. */
export const Specimen = defineEntity({
  name: 'Specimen',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(10),
    anyLength: p.string().nullable(),
    text: p.text().nullable(),
    lower: p.string().lowercase().length(5).nullable(),
    count: p.integer().default(0),
    small: p.smallint().nullable(),
    big: p.bigint().nullable(),
    bigNumber: p.bigint('number').nullable(),
    bigString: p.bigint('string').nullable(),
    float: p.float().nullable(),
    double: p.double().nullable(),
    price: p.decimal('number').precision(10).scale(2).nullable(),
    exact: p.decimal().precision(30).scale(10).nullable(),
    bare: p.decimal().nullable(),
    flag: p.boolean().default(true),
    at: p.datetime(3).nullable(),
    day: p.date().nullable(),
    hour: p.time().nullable(),
    uuid: p.uuid().nullable(),
    json: p.json<{ a?: unknown } | unknown[]>().nullable(),
    bytes: p.blob().nullable(),
    list: p.array().nullable(),
    kind: p.enum(['small', 'large']).nullable(),
    level: p.enum([1, 2]).nullable(),
    secret: p.string().hidden().nullable(),
    lazyText: p.text().lazy().ref().nullable(),
    point: p.type(PointType).$type<{ x: number; y: number }>().nullable(),
    maker: () => p.manyToOne(Maker).nullable(),
    country: () => p.manyToOne(Country).ref().nullable(),
    createdAt: p.datetime(3).onCreate(() => new Date()),
  },
});

export const SPECIMENS = [Country, Maker, Specimen];
