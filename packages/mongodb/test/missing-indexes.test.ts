import { defineEntity, p } from '@mikro-orm/core';
import { MikroORM } from '@mikro-orm/mongodb';
import { fastify } from 'fastify';
import t from 'tap';
import { ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import { MongoExtension } from '../src/index.ts';
import { mongoDatabase, skipMongo } from '../../core/test/support/databases.ts';

const Address = defineEntity({ name: 'Address', embeddable: true, properties: { city: p.string() } });
const Shelf = defineEntity({
  name: 'Shelf',
  properties: {
    id: p.integer().primary(),
    code: p.string().unique(),
    row: p.integer().nullable(),
    place: p.integer().fieldName('the_place'),
    address: () => p.embedded(Address).object(),
    keeper: () => p.oneToOne(Keeper).owner(),
  },
  uniques: [{ properties: ['row', 'place'] }],
});
const Keeper = defineEntity({ name: 'Keeper', properties: { id: p.integer().primary(), name: p.string() } });
/** The keepers as a view of MongoDB shows them, once there is one. */
const Listed = defineEntity({
  name: 'Listed',
  properties: { id: p.integer().primary(), code: p.string().unique() },
});

class KeeperViewSet extends ModelViewSet(Keeper, {
  read: readShape(Keeper, ['id', 'name']),
  write: writeShape(Keeper, ['name']),
}) {}

t.test('a unique field without its index is a warning at the start', { skip: skipMongo() }, async (t) => {
  const orm = await MikroORM.init({
    clientUrl: mongoDatabase(),
    extensions: [MongoExtension],
    entities: [Shelf, Keeper, Listed],
  });
  t.teardown(async () => {
    await orm.em.getConnection().getDb().dropDatabase();
    await orm.close(true);
  });
  const warnings = async (): Promise<unknown[]> => {
    const lines: { level: number; collection?: string; fields?: string[] }[] = [];
    const stream = { write: (line: string) => void lines.push(JSON.parse(line)) };
    const app = fastify(serverOptions({ logger: { stream } }));
    await app.register(viewset, { orm });
    await app.register(new Router().register('keepers', KeeperViewSet).plugin);
    await app.ready();
    t.equal((await app.inject('/keepers')).statusCode, 200);
    await app.close();
    return lines
      .filter(({ level }) => level === 40)
      .map(({ collection, fields }) => `${collection}: ${fields?.join()}`);
  };
  const all = ['listed: code', 'shelf: code', 'shelf: keeper', 'shelf: row,the_place'];

  t.strictSame(new Set(await warnings()), new Set(all), 'of a database without collections');
  await orm.schema.create({ ensureIndexes: false });
  t.strictSame(new Set(await warnings()), new Set(all), 'of collections without indexes');
  await orm.schema.update();
  t.strictSame(await warnings(), [], 'of none');
  const shelves = orm.em.getConnection().getDb().collection('shelf');
  await shelves.dropIndex('code_1');
  await shelves.createIndex({ code: 1 });
  t.strictSame(await warnings(), ['shelf: code'], 'of an index that is not unique');
  const db = orm.em.getConnection().getDb();
  await db.dropCollection('listed');
  await db.createCollection('listed', { viewOn: 'keeper', pipeline: [] });
  t.strictSame(
    await warnings(),
    ['shelf: code'],
    'whatever another collection answers, as a view, which has no indexes',
  );
});
