/** What the suite does with values that a database stores in another notation, or rejects. */
import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import { ModelViewSet, readShape, Router, serverOptions, type ViewSet, viewset, writeShape } from '@viewset/core';
import fastify from 'fastify';
import t from 'tap';
import { missingServer, type TestDatabase, testApp, testViewSet } from '../src/index.ts';

const PlanSchema = defineEntity({
  name: 'Plan',
  properties: { id: p.integer().primary(), price: p.decimal('string').precision(8).scale(2) },
});
class Plan extends PlanSchema.class {}
PlanSchema.setClass(Plan);

class PlanViewSet extends ModelViewSet(Plan, {
  read: readShape(Plan, ['id', 'price']),
  write: writeShape(Plan, ['price']),
}) {}

const RentalSchema = defineEntity({
  name: 'Rental',
  checks: [{ name: 'never_returned', expression: 'returned is null' }],
  properties: { id: p.integer().primary(), code: p.string().length(20), returned: p.integer().nullable() },
});
class Rental extends RentalSchema.class {}
RentalSchema.setClass(Rental);

class RentalViewSet extends ModelViewSet(Rental, {
  read: readShape(Rental, ['id', 'code']),
  write: writeShape(Rental, ['code']),
  filterFields: { open: 'returned__isnull', code: 'code' },
}) {}

async function failuresOf(View: new () => ViewSet, database: TestDatabase) {
  const build = async (orm: MikroORM) => {
    const app = fastify(serverOptions());
    await app.register(viewset, { orm });
    await app.register(new Router({ prefix: 'api' }).register('records', View).plugin);
    return app;
  };
  const app = () => testApp(build, { entities: [Plan, Rental], database });
  const failed: [name: string, message: string][] = [];
  for (const { name, run } of await testViewSet(View, { app })) {
    await run().catch(({ message }: Error) => failed.push([name, message]));
  }
  return failed;
}

for (const database of ['sqlite', 'postgresql'] as const) {
  t.test(database, { skip: missingServer(database) }, async (t) => {
    await t.test('a decimal may be stored with more digits than were sent', async (t) => {
      t.strictSame(await failuresOf(PlanViewSet, database), []);
    });

    await t.test('a value that a constraint rejects is named', async (t) => {
      const failed = await failuresOf(RentalViewSet, database);
      t.strictSame(
        failed.map(([name]) => name),
        ['RentalViewSet: list: open filters'],
      );
      t.match(failed[0]?.[1], /changed "returned" of three records, and the database rejects \d+; give values that/);
    });
  });
}
