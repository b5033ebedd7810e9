import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { forEachDatabase } from './databases.ts';

const Thing = defineEntity({ name: 'Thing', properties: { id: p.integer().primary(), name: p.string() } });

forEachDatabase(t, { entities: [Thing] }, async (t, orm) => {
  const em = orm.em.fork();
  em.create(Thing, { name: 'first' });
  await em.flush();
  t.equal(await orm.em.fork().count(Thing), 1, 'the schema is there');
});
