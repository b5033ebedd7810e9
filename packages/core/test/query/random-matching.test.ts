import type { EntityName, MikroORM } from '@mikro-orm/core';
import t from 'tap';
import { QuerySet } from '../../src/query/queryset.ts';
import { forEachDatabase } from '../support/databases.ts';
import { anyWhere, COUNT, Dice, entities, fill, NAMES, SEED, type Where } from './random-conditions.ts';

const dice = new Dice(SEED);
const CONDITIONS = Array.from({ length: COUNT }, () => {
  const entity = dice.oneOf(NAMES);
  return { entity, where: anyWhere(dice, entity, 3, true) };
});

async function foundByMikroORM(orm: MikroORM, entity: string, where: Where): Promise<number[]> {
  const name = entity as unknown as EntityName<{ id: number }>;
  const found = await orm.em.fork().find(name, structuredClone(where) as never);
  return [...new Set(found.map(({ id }) => id))].toSorted((a, b) => a - b);
}

async function foundByQuerySet(orm: MikroORM, entity: string, where: Where): Promise<number[]> {
  const { class: type } = orm.getMetadata().getByClassName<{ id: number }>(entity);
  const found = await QuerySet.of(orm.em.fork(), type).matching(where).orderBy('id').entities();
  return found.map(({ id }) => id);
}

/** What `em.find` finds on the first database, SQLite. */
let onSql: string[] | undefined;

forEachDatabase(t, { entities }, async (t, orm, database) => {
  await fill(orm.em.fork());
  const said = (found: readonly number[], index: number): string => {
    const { entity, where } = CONDITIONS[index]!;
    return `${entity} ${JSON.stringify(where)}: ${found.join()}`;
  };
  const found: string[] = [];
  const expected: string[] = [];
  for (const [index, { entity, where }] of CONDITIONS.entries()) {
    found.push(said(await foundByQuerySet(orm, entity, where), index));
    // MikroORM asks nothing across relations of MongoDB.
    if (database !== 'mongodb') expected.push(said(await foundByMikroORM(orm, entity, where), index));
  }
  if (database !== 'mongodb') t.strictSame(found, expected, 'matching() finds what em.find does');
  onSql ??= expected;
  t.strictSame(found, onSql, 'and every database the same');
});
