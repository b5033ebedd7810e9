/** Tenants by schema: each entity manager says whose tables it reads. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { QuerySet } from '../../src/query/queryset.ts';
import { forEachDatabase } from '../support/databases.ts';

const Ticket = defineEntity({
  name: 'Ticket',
  schema: '*',
  properties: {
    id: p.integer().primary(),
    title: p.string(),
    parent: () => p.manyToOne(Ticket).nullable(),
    total: p.integer().formula((_columns, table) => `(select count(*)::int from ${table.qualifiedName})`),
    home: p.string().formula((_columns, table) => `'${table.schema ?? 'none'}'`),
  },
});

forEachDatabase(t, { entities: [Ticket], only: ['postgresql'] }, async (t, orm) => {
  const tenants = { public: ['own'], north: ['a', 'b'], south: ['c', 'd', 'e'] };
  for (const [schema, titles] of Object.entries(tenants)) {
    if (schema !== 'public') await orm.em.getConnection().execute(`create schema ${schema}`);
    const table = `${schema}.ticket`;
    await orm.em.getConnection().execute(`
      create table if not exists ${table} (id serial primary key, title text not null, parent_id int references ${table});
      insert into ${table} (title, parent_id) values ${titles.map((title) => `('${title}', 1)`).join(', ')};
    `);
  }

  for (const [schema, titles] of Object.entries(tenants)) {
    await t.test(`a formula reads the table of the schema ${schema}`, async (t) => {
      const em = orm.em.fork({ schema });
      const tickets = QuerySet.of(em, Ticket).orderBy('id');
      const found = await tickets.entities();
      const expected = await em.fork().find(Ticket, {}, { orderBy: { id: 1 } });
      t.strictSame(
        found.map(({ total }) => total),
        expected.map(() => titles.length),
      );
      t.strictSame(
        expected.map(({ total }) => total),
        expected.map(() => titles.length),
        'as em.find does',
      );
      t.equal(found[0]?.home, schema === 'public' ? 'none' : schema);
      t.equal(await tickets.filter({ total: titles.length }).count(), titles.length);
      t.equal(await tickets.filter({ parent__total: titles.length }).count(), titles.length, 'through a relation');
    });
  }
});
