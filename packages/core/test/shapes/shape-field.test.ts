import { MikroORM as PostgreSqlORM } from '@mikro-orm/postgresql';
import { MikroORM as SqliteORM } from '@mikro-orm/sqlite';
import t from 'tap';
import { declaredMetadata } from '../../src/fields/declared-metadata.ts';
import { shapeField, type ShapeField } from '../../src/shapes/shape-field.ts';
import { SPECIMENS, Specimen } from './specimens.ts';

/** A field without what only an initialised ORM can know: the property itself. */
function described(field: ShapeField): unknown {
  return { ...field, property: undefined, target: field.target?.className };
}

for (const [database, ORM] of [
  ['SQLite', SqliteORM],
  ['PostgreSQL', PostgreSqlORM],
] as const) {
  t.test(`a builder declares the same columns as ${database} has`, async (t) => {
    const orm = await ORM.init({ entities: SPECIMENS, dbName: 'none' });
    const meta = orm.getMetadata().get(Specimen);
    const declared = declaredMetadata(Specimen);
    for (const name of [...Object.keys(declared.properties), 'maker.name', 'maker.country.code', 'country.name']) {
      // Nothing is derived from the type of a column that the application wrote itself.
      if (name === 'point') continue;
      t.same(described(shapeField(declared, name)), described(shapeField(meta, name)), name);
    }
  });
}

t.test('an entity that is not made by defineEntity has nothing to derive from', async (t) => {
  class Plain {
    declare id: number;
  }
  t.throws(() => declaredMetadata(Plain), { name: 'ImproperlyConfigured', message: /defineEntity\(\).*got Plain/ });
});
