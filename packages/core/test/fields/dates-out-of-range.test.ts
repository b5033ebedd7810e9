/**
 * Dates that databases store and ISO 8601 writes in another way, or not at all: years before Christ and above 9999, infinity, and what is
 * farther away than a Date of JavaScript can be.
 */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { ModelViewSet, readShape, Router } from '../../src/index.ts';
import { administrate, forEachDatabase, postgresUrl } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Reign = defineEntity({
  name: 'Reign',
  properties: { id: p.integer().primary(), name: p.string().length(20), since: p.datetime(), day: p.date() },
});
const read = readShape(Reign, ['id', 'since', 'day']);
class RowsViewSet extends ModelViewSet(Reign, {
  read,
  exports: ['csv', 'ndjson'],
  orderingFields: { since: 'since' },
}) {}
class EntitiesViewSet extends ModelViewSet(Reign, { read }) {
  override represent(reign: InferEntity<typeof Reign>, request?: FastifyRequest) {
    return super.represent(reign, request);
  }
}

forEachDatabase(t, { entities: [Reign], only: ['postgresql'] }, async (t, orm) => {
  await orm.em.getConnection().execute(
    `insert into reign (name, since, day) values
       ('caesar', '0044-03-15 12:00:00+00 BC', '0044-03-15 BC'), ('god', 'infinity', 'infinity'), ('chaos', '-infinity', '-infinity'), ('now', '2026-01-02 03:04:05+00', '2026-01-02'),
       ('early', '1800-01-01 12:00:00+00', '1800-01-01'), ('late', '10000-01-01 12:00:00+00', '10000-01-01'), ('last', '294276-12-31 12:00:00+00', '5874897-12-31')`,
  );
  const app = await testApp(t, orm, [new Router().register('rows', RowsViewSet).register('entities', EntitiesViewSet)]);
  const expected = [
    { id: 1, since: '-000043-03-15T12:00:00.000Z', day: '-000043-03-15' },
    { id: 2, since: '+275760-09-13T00:00:00.000Z', day: '+275760-09-13' },
    { id: 3, since: '-271821-04-20T00:00:00.000Z', day: '-271821-04-20' },
    { id: 4, since: '2026-01-02T03:04:05.000Z', day: '2026-01-02' },
    { id: 5, since: '1800-01-01T12:00:00.000Z', day: '1800-01-01' },
    { id: 6, since: '+010000-01-01T12:00:00.000Z', day: '+010000-01-01' },
    { id: 7, since: '+275760-09-13T00:00:00.000Z', day: '+275760-09-13' },
  ];
  for (const path of ['rows', 'entities']) {
    t.test(`/${path}: a record with such a date does not break the response for the other records`, async (t) => {
      const list = await app.inject(`/${path}`);
      t.equal(list.statusCode, 200, list.body);
      t.strictSame(list.json().results, expected);
      for (const record of expected) t.strictSame((await app.inject(`/${path}/${record.id}`)).json(), record);
    });
  }
  t.test('a server in a time zone whose offset has seconds', async (t) => {
    const name = String(orm.config.get('dbName'));
    await administrate(postgresUrl()!, `alter database "${name}" set timezone = 'Europe/Amsterdam'`);
    await orm.reconnect();
    for (const path of ['rows', 'entities']) t.strictSame((await app.inject(`/${path}`)).json().results, expected);
  });

  t.test('exports and orders', async (t) => {
    const lines = (await app.inject({ url: '/rows', headers: { accept: 'application/x-ndjson' } })).body
      .trim()
      .split('\n');
    t.strictSame(
      lines.map((line) => JSON.parse(line)),
      expected,
    );
    const sorted = (await app.inject('/rows?sort=since')).json<{ results: { id: number }[] }>().results;
    t.same(
      sorted.map(({ id }) => id),
      [3, 1, 5, 4, 6, 7, 2],
    );
  });
});

forEachDatabase(t, { entities: [Reign], only: ['sqlite'] }, async (t, orm) => {
  await orm.em
    .getConnection()
    .execute(`insert into reign (name, since, day) values ('far', 9e15, '2026-01-02'), ('early', -9e15, '2026-01-02')`);
  const app = await testApp(t, orm, [new Router().register('rows', RowsViewSet).register('entities', EntitiesViewSet)]);
  for (const path of ['rows', 'entities']) {
    const list = (await app.inject(`/${path}`)).json<{ results: { since: string }[] }>();
    t.same(
      list.results.map(({ since }) => since),
      ['+275760-09-13T00:00:00.000Z', '-271821-04-20T00:00:00.000Z'],
    );
  }
});
