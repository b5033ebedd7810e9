/** Enums of numbers that are wider than the column that MikroORM gives them. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { errorAtStart, testApp } from '../support/library.ts';

const Wide = defineEntity({
  name: 'Wide',
  properties: { id: p.integer().primary(), level: p.enum([-1, 0, 2_147_483_647] as const) },
});
const Declared = defineEntity({
  name: 'Declared',
  properties: { id: p.integer().primary(), level: p.enum([-1, 0, 2_147_483_647] as const).columnType('integer') },
});
class WideViewSet extends ModelViewSet(Wide, {
  read: readShape(Wide, ['level']),
  write: writeShape(Wide, ['level']),
}) {}
class DeclaredViewSet extends ModelViewSet(Declared, {
  read: readShape(Declared, ['level']),
  write: writeShape(Declared, ['level']),
}) {}

forEachDatabase(t, { entities: [Wide, Declared] }, async (t, orm, database) => {
  t.test('a value that the column cannot hold fails at start', async (t) => {
    t.equal(
      await errorAtStart(t, orm, WideViewSet),
      database === 'postgresql'
        ? 'WideViewSet: Wide.level has the enum value 2147483647, which its column "smallint" cannot hold; declare columnType(\'integer\')'
        : undefined,
    );
  });

  t.test('every value of a column that is wide enough is stored', async (t) => {
    const app = await testApp(t, orm, [new Router().register('levels', DeclaredViewSet)]);
    for (const level of [-1, 0, 2_147_483_647]) {
      const response = await app.inject({ method: 'POST', url: '/levels', payload: { level } });
      t.strictSame([response.statusCode, response.json()], [201, { level }]);
    }
  });
});
