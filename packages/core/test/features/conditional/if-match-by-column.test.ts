/** A write with If-Match: it notices a change of any column, and of many with one tag only one is done. */
import t from 'tap';
import { ModelViewSet, readShape, Router, writeShape } from '../../../src/index.ts';
import { entities, Product } from '../../query/catalog.ts';
import { recordQueries } from '../../query/record-queries.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';
import { fillEveryKind, SERIAL } from '../../fields/every-kind.ts';

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

class ProductViewSet extends ModelViewSet(Product, { read, write, requireIfMatch: true }) {}
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
    .register('custom-retrieve', CustomRetrieveViewSet);
  const app = await testApp(t, orm, [router]);
  const tagOf = async (url: string) => String((await app.inject(url)).headers['etag']);
  const patch = (url: string, tag: string, payload: object) =>
    app.inject({ method: 'PATCH', url, headers: { 'if-match': tag }, payload });
  const queriesOf = async (url: string, tag: string) => {
    const queries = recordQueries(orm);
    const { statusCode } = await patch(url, tag, { stock: 1 });
    queries.stop();
    return [statusCode, queries.texts.length];
  };

  t.test('an outdated ETag takes one statement, and no lock', async (t) => {
    for (const path of ['products', 'with-maker']) {
      t.strictSame(await queriesOf(`/${path}/1`, '"outdated"'), [412, 1], path);
    }
  });

  t.test('If-Match: * writes as without the header', async (t) => {
    t.strictSame(await queriesOf('/products/1', '*'), [200, 1]);
  });

  t.test('a change of any column makes the ETag outdated', async (t) => {
    const url = '/products/2';
    const change = async (name: string, value: unknown): Promise<void> => {
      const before = await tagOf(url);
      t.equal((await patch(url, before, {})).statusCode, 200, `${name} before`);
      await orm.em.fork().nativeUpdate(Product, { id: 2 }, { [name]: value });
      t.equal((await patch(url, before, { stock: 3 })).statusCode, 412, `${name} is ${String(value)}`);
    };
    const { properties } = orm.getMetadata().get(Product);
    for (const [name, value] of Object.entries(CHANGES)) {
      await change(name, value);
      if (properties[name as never]['nullable'] !== true) continue;
      await change(name, null);
      await change(name, value);
    }
  });

  t.test('a response with related records, or of an overridden retrieve, is compared too', async (t) => {
    for (const path of ['with-maker', 'custom-retrieve']) {
      const used = await tagOf(`/${path}/1`);
      t.equal((await patch(`/${path}/1`, used, { stock: 1 })).statusCode, 200);
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
