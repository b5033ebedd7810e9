import { MikroORM as PostgreSqlORM } from '@mikro-orm/postgresql';
import { MikroORM as SqliteORM } from '@mikro-orm/sqlite';
import { defineEntity, p, Type, type EntityProperty } from '@mikro-orm/core';
import t from 'tap';
import { declaredMetadata, rememberSchemas } from '../../src/fields/declared-metadata.ts';
import type { FieldType } from '../../src/fields/field-kind.ts';
import { customTypeOf, fieldType } from '../../src/fields/field-type.ts';

class Cents extends Type<number, string> {
  override getColumnType(): string {
    return 'numeric(10,2)';
  }
}

const Wide = defineEntity({
  name: 'Wide',
  properties: {
    id: p.integer().primary(),
    short: p.string().length(50),
    plain: p.string(),
    long: p.text(),
    flag: p.boolean(),
    tiny: p.tinyint(),
    small: p.smallint(),
    big: p.bigint(),
    bigNumber: p.bigint('number'),
    bigString: p.bigint('string'),
    real: p.float(),
    double: p.double(),
    decimal: p.decimal().precision(12).scale(3),
    decimalNumber: p.decimal('number').precision(10).scale(2),
    datetime: p.datetime(3),
    date: p.date(),
    time: p.time(),
    uuid: p.uuid(),
    json: p.json(),
    blob: p.blob(),
    bytes: p.uint8array(),
    words: p.enum(['a', 'b'] as const),
    numbers: p.enum([1, 2] as const),
    list: p.array(),
    words_list: p.enum(['a', 'b'] as const).array(),
    interval: p.interval(),
    cents: p.type(Cents),
    text: p.type(String),
    number: p.type(Number),
    day: p.type(Date),
    citext: p.string().columnType('citext'),
    stamp: p.datetime().columnType('timestamp'),
    wide: p.integer().columnType('bigint'),
    narrow: p.string().columnType('varchar(20)'),
    document: p.string().columnType('jsonb'),
    token: p.string().columnType('uuid'),
    letters: p.string().lowercase(),
    self: () => p.manyToOne(Wide),
  },
});

const INT32 = { kind: 'integer', minimum: -2147483648, maximum: 2147483647 };
const INT16 = { kind: 'integer', minimum: -32768, maximum: 32767 };
const INT64 = { kind: 'bigint', minimum: -9223372036854775808n, maximum: 9223372036854775807n };

const EXPECTED: Record<string, unknown> = {
  id: INT32,
  short: { kind: 'string', maxLength: 50 },
  plain: { kind: 'string', maxLength: 255 },
  long: { kind: 'string' },
  flag: { kind: 'boolean' },
  tiny: INT16,
  small: INT16,
  big: { ...INT64, mode: 'bigint' },
  bigNumber: { ...INT64, mode: 'number' },
  bigString: { ...INT64, mode: 'string' },
  real: { kind: 'number' },
  double: { kind: 'number' },
  decimal: { kind: 'decimal', mode: 'string', precision: 12, scale: 3 },
  decimalNumber: { kind: 'decimal', mode: 'number', precision: 10, scale: 2 },
  datetime: { kind: 'datetime' },
  date: { kind: 'date' },
  time: { kind: 'time' },
  uuid: { kind: 'uuid' },
  json: { kind: 'json' },
  blob: { kind: 'binary' },
  bytes: { kind: 'binary' },
  words: { kind: 'enum', values: ['a', 'b'] },
  numbers: { kind: 'enum', values: [1, 2] },
  list: { kind: 'json', element: { kind: 'string' } },
  words_list: { kind: 'json', element: { kind: 'enum', values: ['a', 'b'] } },
  interval: { kind: 'json' },
  cents: { kind: 'decimal', mode: 'number', precision: 10, scale: 2 },
  text: { kind: 'string', maxLength: 255 },
  number: INT32,
  day: { kind: 'datetime' },
  citext: { kind: 'string' },
  stamp: { kind: 'datetime' },
  wide: { ...INT64, mode: 'bigint' },
  narrow: { kind: 'string', maxLength: 20 },
  document: { kind: 'json' },
  token: { kind: 'uuid' },
  letters: { kind: 'string', maxLength: 255 },
  self: INT32,
};

const ORMS = {
  SQLite: () => new SqliteORM({ dbName: ':memory:', entities: [Wide] }),
  PostgreSQL: () => new PostgreSqlORM({ dbName: 'none', entities: [Wide] }),
};

t.test('the type of a field is the same before any ORM has discovered its entity', async (t) => {
  for (const [name, property] of Object.entries<EntityProperty>(declaredMetadata(Wide).properties)) {
    // Nothing is derived from a type that the application wrote itself.
    if (name !== 'cents') t.strictSame({ ...fieldType(property) }, EXPECTED[name], name);
  }
});

for (const [database, make] of Object.entries(ORMS)) {
  t.test(`field types follow the declaration of the entity, on ${database}`, async (t) => {
    const orm = make();
    // As when an application starts.
    rememberSchemas([Wide]);
    const { properties } = orm.getMetadata().get(Wide);
    for (const property of Object.values<EntityProperty>(properties)) {
      const type: FieldType = fieldType(property);
      t.strictSame({ ...type }, EXPECTED[property.name], property.name);
    }
    t.ok(customTypeOf(properties.cents) instanceof Cents, "the application's own types are told apart");
    t.equal(customTypeOf(properties.big), undefined, "from MikroORM's");
  });
}
