/** Everything that an entity can declare and that is not a plain column of a plain table. */
import { defineEntity, p, Type, type MikroORM } from '@mikro-orm/core';
import t from 'tap';
import { fieldPath } from '../../src/fields/field-path.ts';
import { valueReader } from '../../src/fields/value-reader.ts';
import { QuerySet } from '../../src/query/queryset.ts';
import { forEachDatabase, SQL_DATABASES } from '../support/databases.ts';

class Money {
  readonly cents: number;
  constructor(cents: number) {
    this.cents = cents;
  }
}

/** An object in JavaScript, an integer in the database. */
class MoneyType extends Type<Money, number> {
  override convertToDatabaseValue(value: Money | number): number {
    return value instanceof Money ? value.cents : value;
  }
  override convertToJSValue(value: number): Money {
    return new Money(value);
  }
  override getColumnType(): string {
    return 'int';
  }
}

/** Stored in capitals: the database converts. */
class LoudType extends Type<string, string> {
  override convertToDatabaseValueSQL(key: string): string {
    return `upper(${key})`;
  }
  override convertToJSValueSQL(key: string): string {
    return `lower(${key})`;
  }
  override getColumnType(): string {
    return 'varchar(50)';
  }
}

const Address = defineEntity({
  name: 'Address',
  embeddable: true,
  properties: { city: p.string(), zip: p.integer().nullable() },
});

const Shop = defineEntity({
  name: 'Shop',
  tableName: 'the "shops"',
  properties: {
    key: p.uuid().primary().fieldName('shop key'),
    name: p.string().fieldName('order'),
    address: () => p.embedded(Address),
    extra: () => p.embedded(Address).object().nullable(),
    rent: p.type(MoneyType),
    motto: p.type(LoudType).nullable(),
    bio: p.text().lazy().nullable(),
    loud: p.string().formula((columns) => `upper(${columns['name']})`),
    version: p.integer().version(),
    secret: p.string().hidden().serializedName('shh').default('s'),
    license: () => p.oneToOne(License).inversedBy('shop').nullable(),
    words: p.array().nullable(),
  },
});

const License = defineEntity({
  name: 'License',
  properties: { code: p.string().primary(), shop: () => p.oneToOne(Shop).mappedBy('license') },
});

const Counter = defineEntity({
  name: 'Counter',
  properties: { id: p.bigint().primary(), of: () => p.manyToOne(Counter).nullable() },
});

const Animal = defineEntity({
  name: 'Animal',
  discriminatorColumn: 'kind',
  abstract: true,
  properties: {
    id: p.integer().primary(),
    kind: p.string(),
    name: p.string(),
    owner: () => p.manyToOne(Owner).nullable(),
  },
});
const Cat = defineEntity({
  name: 'Cat',
  extends: Animal,
  discriminatorValue: 'cat',
  properties: { lives: p.integer().nullable() },
});
const Dog = defineEntity({
  name: 'Dog',
  extends: Animal,
  discriminatorValue: 'dog',
  properties: { tricks: p.integer().nullable() },
});
const Puppy = defineEntity({ name: 'Puppy', extends: Dog, discriminatorValue: 'puppy', properties: {} });
const Owner = defineEntity({
  name: 'Owner',
  properties: { id: p.integer().primary(), name: p.string(), animals: () => p.oneToMany(Animal).mappedBy('owner') },
});

const entities = [Address, Shop, License, Counter, Animal, Cat, Dog, Puppy, Owner];

// MongoDB has no formulas and no keys of two fields, and calls every key "_id". Its embeddables and inheritance are in http/.
forEachDatabase(t, { entities: entities as never, only: SQL_DATABASES }, async (t, orm, database) => {
  const em = orm.em.fork();
  const key = '0e3c5b0a-0000-4000-8000-00000000000f';
  const license = em.create(License, { code: 'L1' } as never);
  em.create(Shop, {
    key,
    name: 'Corner',
    address: { city: 'Köln', zip: 50667 },
    extra: { city: 'Bonn', zip: null },
    rent: new Money(1250),
    motto: 'Open',
    bio: 'long',
    license,
    words: ['a', 'b,c', '"d"'],
  } as never);
  em.create(Counter, { id: 9007199254740993n, of: em.create(Counter, { id: 9223372036854775807n } as never) } as never);
  const owner = em.create(Owner, { name: 'Ann' });
  em.create(Cat, { name: 'Tom', lives: 9, owner } as never);
  em.create(Dog, { name: 'Rex', tricks: 3, owner } as never);
  em.create(Puppy, { name: 'Pip', tricks: 1 } as never);
  await em.flush();
  await em
    .getConnection()
    .execute(
      database === 'sqlite'
        ? 'update `the "shops"` set motto = upper(motto)'
        : 'update "the ""shops""" set motto = upper(motto)',
    );

  const read = async (entity: unknown, lookups: object, ...names: string[]): Promise<unknown[][]> =>
    QuerySet.of(orm.em.fork(), entity as typeof Shop)
      .filter(lookups)
      .rows(fields(orm, entity, names));

  t.test('names that have to be quoted, and columns of other names', async (t) => {
    t.strictSame(await read(Shop, { key: key.toUpperCase(), name__icontains: 'corn' }, 'key', 'name'), [
      [key, 'Corner'],
    ]);
    const shops = QuerySet.of(orm.em.fork(), Shop);
    t.equal(await shops.orderBy('-name').slice(0, 1).count(), 1);
    t.equal((await shops.matching({ name: 'Corner' }).entities()).length, 1);
  });

  t.test('embeddables in separate columns', async (t) => {
    t.strictSame(
      await read(Shop, { address__city__iexact: 'KÖLN', address__zip__gte: 50000 }, 'address.city', 'address.zip'),
      [['Köln', 50667]],
    );
  });

  t.test('custom types of the application', async (t) => {
    t.strictSame(await read(Shop, { rent__gte: new Money(1250) }, 'rent'), [[new Money(1250)]]);
    t.equal((await read(Shop, { rent__lt: new Money(1250) }, 'rent')).length, 0);
    t.equal((await read(Shop, { rent__in: [new Money(1), new Money(1250)] }, 'rent')).length, 1);
    t.equal((await read(Shop, { rent__range: [new Money(1), new Money(2000)] }, 'rent')).length, 1);
    t.equal((await read(Shop, { rent__ne: new Money(1) }, 'rent')).length, 1);
    t.strictSame(await read(Shop, { motto: 'open' }, 'motto'), [['open']], 'converted by the database');
    t.equal((await read(Shop, { motto__in: ['open', 'x'] }, 'motto')).length, 1);
  });

  t.test('formulas are read, compared and ordered by', async (t) => {
    t.strictSame(await read(Shop, { loud__contains: 'CORN' }, 'loud'), [['CORNER']]);
    t.equal((await QuerySet.of(orm.em.fork(), Shop).orderBy('-loud').entities())[0]?.loud, 'CORNER');
  });

  t.test('arrays, lazy and hidden fields', async (t) => {
    t.strictSame(await read(Shop, { words__isnull: false }, 'words', 'bio', 'secret', 'version'), [
      [['a', 'b,c', '"d"'], 'long', 's', 1],
    ]);
    const shops = QuerySet.of(orm.em.fork(), Shop);
    const lazy = await shops.using(orm.em.fork()).entity();
    t.equal(lazy?.bio, undefined, 'a lazy field is not loaded');
    const loaded = await shops.using(orm.em.fork()).entity({ populate: ['bio'] });
    t.equal(loaded?.bio, 'long', 'unless it is asked for');
    t.match(loaded, {
      address: { city: 'Köln' },
      extra: { city: 'Bonn' },
      rent: { cents: 1250 },
      motto: 'open',
      words: ['a', 'b,c', '"d"'],
      version: 1,
    });
  });

  t.test('both sides of one to one', async (t) => {
    t.strictSame(await read(Shop, { license: 'L1' }, 'license', 'license.code'), [['L1', 'L1']]);
    t.strictSame(await read(License, { shop__name: 'Corner' }, 'code', 'shop', 'shop.rent'), [
      ['L1', key, new Money(1250)],
    ]);
    t.equal((await read(License, { shop__isnull: true }, 'code')).length, 0);
    t.equal((await QuerySet.of(orm.em.fork(), License).entities({ populate: ['shop'] }))[0]?.shop?.name, 'Corner');
  });

  t.test('a primary key of 64 bits', async (t) => {
    t.strictSame(await read(Counter, { id: 9007199254740993n }, 'id', 'of', 'of.id'), [
      [9007199254740993n, 9223372036854775807n, 9223372036854775807n],
    ]);
    t.strictSame(await read(Counter, { of__in: [9223372036854775807n, 1n] }, 'id'), [[9007199254740993n]]);
    const [counter] = await QuerySet.of(orm.em.fork(), Counter)
      .filter({ id: 9007199254740993n })
      .entities({ populate: ['of'] });
    t.equal(counter?.of?.id, 9223372036854775807n);
  });

  t.test('several entities in one table (single table inheritance)', async (t) => {
    t.strictSame((await read(Animal, {}, 'name')).flat(), ['Tom', 'Rex', 'Pip']);
    t.strictSame(
      await read(Dog, {}, 'name', 'tricks'),
      [
        ['Rex', 3],
        ['Pip', 1],
      ],
      'and what extends it',
    );
    t.strictSame((await read(Cat, { lives__gte: 9 }, 'name')).flat(), ['Tom']);
    t.strictSame((await read(Puppy, {}, 'name')).flat(), ['Pip']);
    t.equal(await QuerySet.of(orm.em.fork(), Dog).filter({ name: 'Tom' }).count(), 0);
    t.strictSame(
      await QuerySet.of(orm.em.fork(), Dog)
        .slice(0, 1)
        .page(fields(orm, Dog, ['name'])),
      { rows: [['Rex']], count: 2, next: true },
    );
    const animals = await QuerySet.of(orm.em.fork(), Animal).orderBy('id').entities();
    t.strictSame(
      animals.map((animal) => animal.constructor.name),
      ['Cat', 'Dog', 'Puppy'],
    );
    t.strictSame((await read(Owner, { animals__name: 'Rex' }, 'name')).flat(), ['Ann']);
    t.equal(
      await QuerySet.of(orm.em.fork(), Dog)
        .matching({ name: { $like: '%' } })
        .count(),
      2,
    );
  });
});

function fields(orm: MikroORM, entity: unknown, names: readonly string[]) {
  const meta = orm.getMetadata().get(entity as typeof Shop);
  const paths = names.map((name) => fieldPath(meta, name, '.'));
  const readers = paths.map((path) => valueReader(path, orm.em.getPlatform()));
  return {
    paths,
    readRow: (row: readonly unknown[]) =>
      row.map((raw, index) => (raw === null ? null : (readers[index]?.(raw) ?? raw))),
    readEntity: () => [] as unknown[],
    populate: [],
  };
}
