/** A write with If-Match that no hook has to see: one statement looks at the record, one writes it if it is as it was. */
import t, { type Test } from 'tap';
import { action, ModelViewSet, QuerySet, readShape, Router, writeShape } from '../../src/index.ts';
import { fieldPath } from '../../src/fields/field-path.ts';
import { type Condition, unchanged } from '../../src/language/condition.ts';
import type { Projection } from '../../src/language/projection.ts';
import { entities, Product } from '../query/catalog.ts';
import { recordQueries } from '../query/record-queries.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';
import { fillEveryKind, RECORDS, SERIAL } from './every-kind.ts';

/** Every kind of column that is one of the record's own. */
const FIELDS = [
  'id',
  'name',
  'note',
  'price',
  'cost',
  'stock',
  'shelf',
  'sold',
  'weight',
  'height',
  'active',
  'color',
  'added',
  'serial',
] as const;

const read = readShape(Product, [...FIELDS]);
const write = writeShape(Product, ['stock', 'name']);

class ProductViewSet extends ModelViewSet(Product, { read, write, requireIfMatch: true }) {
  ways = action({}, () => this.explain());
}
/** Its answer has more than the columns of a product. */
class WithMakerViewSet extends ModelViewSet(Product, {
  read: { default: readShape(Product, ['id', 'stock']), retrieve: readShape(Product, ['id'], { maker: 'maker.name' }) },
  write,
  etags: true,
}) {}
/** Its tags are of what only it knows. */
class CustomRetrieveViewSet extends ModelViewSet(Product, { read, write, etags: true }) {
  override async retrieve(...given: Parameters<InstanceType<typeof ProductViewSet>['retrieve']>) {
    return super.retrieve(...given);
  }
}

/** A change of each column, to what a comparison could take for the same. */
const CHANGES: Readonly<Partial<Record<(typeof FIELDS)[number], unknown>>> = {
  name: 'GREEN TEA',
  note: '',
  price: 5.02,
  cost: '1.5001',
  stock: 2,
  shelf: -32_767,
  sold: 9_007_199_254_740_992n,
  weight: -2.0000000000000003e-7,
  height: 0.25,
  active: false,
  color: 'blue',
  added: new Date(Date.UTC(2024, 1, 29, 2, 30, 0, 1)),
  serial: `${SERIAL}9`,
};

forEachDatabase(t, { entities }, async (t, orm, database) => {
  await fillEveryKind(orm);
  if (database === 'postgresql') {
    // More digits than a Date has, and texts that are equal to others.
    await orm.em.getConnection().execute('alter table product alter column added type timestamptz(6)');
    await orm.em.getConnection().execute(`update product set added = added + id * interval '7 microseconds'`);
    await orm.em
      .getConnection()
      .execute(`create collation folding (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`);
    await orm.em.getConnection().execute('alter table product alter column name type varchar(255) collate folding');
  }
  const router = new Router()
    .register('products', ProductViewSet)
    .register('with-maker', WithMakerViewSet)
    .register('own-retrieve', CustomRetrieveViewSet);
  const app = await testApp(t, orm, [router]);
  const tagOf = async (url: string) => String((await app.inject(url)).headers['etag']);
  const patch = (url: string, tag: string, payload: object) =>
    app.inject({ method: 'PATCH', url, headers: { 'if-match': tag }, payload });
  const queriesOf = async (t: Test, url: string, payload: object) => {
    const tag = await tagOf(url);
    const queries = recordQueries(orm);
    const answer = await patch(url, tag, payload);
    queries.stop();
    t.equal(answer.statusCode, 200);
    return queries.texts.length;
  };

  t.test('one statement compares If-Match with values of every column type', async (t) => {
    const ways = (await app.inject('/products/ways')).json();
    t.strictSame([ways.update.reasons, ways.destroy.reasons.length > 0], [[], database === 'mongodb']);
    for (let id = 1; id <= RECORDS; id++) {
      t.equal(await queriesOf(t, `/products/${id}`, { stock: 100 + id }), 2, `product ${id}`);
    }
  });

  t.test('a response with related records, or of an overridden retrieve, is compared under a lock', async (t) => {
    for (const path of ['with-maker', 'own-retrieve']) {
      t.ok((await queriesOf(t, `/${path}/1`, { stock: 1 })) > 2, path);
      const used = await tagOf(`/${path}/1`);
      t.equal((await patch(`/${path}/1`, used, { stock: 1 })).statusCode, 200);
    }
  });

  t.test('a record of which any column has changed is another one', async (t) => {
    const meta = orm.getMetadata().get(Product);
    const paths = FIELDS.map((name) => fieldPath(meta, name, '.'));
    const asItIs: Projection<Condition> = {
      paths,
      readRow: (row) => unchanged(paths, row),
      readEntity: () => t.fail('no entity is made') as never,
      populate: [],
    };
    const one = QuerySet.of(orm.em.fork(), Product).filter({ id: 2 });
    for (const [name, value] of Object.entries(CHANGES)) {
      const seen = await one.first(asItIs);
      t.equal(await one.where(seen!).exists(), true, `${name} before`);
      const em = orm.em.fork();
      await em.nativeUpdate(Product, { id: 2 }, { [name]: value });
      t.equal(await one.where(seen!).exists(), false, name);
      const next = await one.first(asItIs);
      if (!paths[FIELDS.indexOf(name as (typeof FIELDS)[number])]!.nullable) continue;
      await em.nativeUpdate(Product, { id: 2 }, { [name]: null });
      t.equal(await one.where(next!).exists(), false, `${name} is NULL`);
      const empty = await one.first(asItIs);
      t.equal(await one.where(empty!).exists(), true, `${name} is NULL still`);
      await em.nativeUpdate(Product, { id: 2 }, { [name]: value });
      t.equal(await one.where(empty!).exists(), false, `${name} is not NULL any more`);
    }
  });

  t.test('of many concurrent writes with one ETag, exactly one succeeds', async (t) => {
    const url = '/products/3';
    const tag = await tagOf(url);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => patch(url, tag, { stock: 1000 + index })),
    );
    const statuses = answers.map(({ statusCode }) => statusCode);
    const timesOf = (wanted: number): number => statuses.filter((status) => status === wanted).length;
    t.strictSame([timesOf(200), timesOf(412)], [1, 19]);
    t.equal((await app.inject(url)).json().stock, 1000 + statuses.indexOf(200));
  });

  t.test('an outdated ETag returns 412, a missing record 404 and a missing header 428', async (t) => {
    const url = '/products/10';
    const tag = await tagOf(url);
    t.equal((await patch(url, tag, { stock: -5 })).statusCode, 200);
    t.equal((await patch(url, tag, { stock: -6 })).statusCode, 412);
    t.equal((await app.inject({ method: 'PATCH', url, payload: { stock: 1 } })).statusCode, 428);
    t.equal((await app.inject({ method: 'DELETE', url })).statusCode, 428);
    t.equal((await app.inject({ method: 'DELETE', url, headers: { 'if-match': tag } })).statusCode, 412);
    const last = await tagOf(url);
    t.equal((await app.inject({ method: 'DELETE', url, headers: { 'if-match': last } })).statusCode, 204);
    for (const header of [last, '*']) {
      t.equal((await patch(url, header, { stock: 1 })).statusCode, 404);
      t.equal((await app.inject({ method: 'DELETE', url, headers: { 'if-match': header } })).statusCode, 404);
    }
    t.equal((await app.inject({ method: 'DELETE', url })).statusCode, 404);
  });
});
