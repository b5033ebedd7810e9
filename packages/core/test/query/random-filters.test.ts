/**
 * Filters of MikroORM at random that ask through relations, back to their own entity too, against a model of what they mean: `em.find` fails
 * at many of them, or mixes up the paths of their joins.
 */
import t from 'tap';
import { lookupCondition } from '../../src/query/language/resolve-lookup.ts';
import { byStoredKeys } from '../../src/query/language/stored-keys.ts';
import { QuerySet } from '../../src/query/queryset.ts';
import { forEachDatabase } from '../support/databases.ts';
import {
  anyColumn,
  anyWhere,
  COUNT,
  Dice,
  entities,
  fill,
  NAMES,
  SEED,
  TO_ONE,
  type Where,
} from './random-conditions.ts';
import { Model } from './where-model.ts';

type Filters = Readonly<Record<string, Where>>;

const dice = new Dice(SEED + 1);

/** A filter that may ask anything, and sometimes others that hold where it asks. */
function anyFilters(): Filters {
  const entity = dice.oneOf(NAMES);
  const filters: Record<string, Where> = { [entity]: anyWhere(dice, entity, dice.oneOf([2, 2, 3]), true) };
  for (const other of NAMES) {
    if (other === entity || dice.below(2) === 0) continue;
    filters[other] = dice.below(3) === 0 ? anyWhere(dice, other, 2, true) : anyColumn(dice);
  }
  return filters;
}

const FILTERED = Array.from({ length: Math.ceil(COUNT / 2) }, () => {
  const entity = dice.oneOf(NAMES);
  return { entity, filters: anyFilters(), where: dice.below(3) === 0 ? anyWhere(dice, entity, 2, true) : undefined };
});

/** The lookups of a scope that ask a reference, and what they mean of the key that is stored. */
function anyReference(entity: string) {
  const name = dice.oneOf(Object.keys(TO_ONE[entity]!));
  const [key, other] = [1 + dice.below(5), 1 + dice.below(5)];
  const isKey = (stored: number | null): boolean => stored === key;
  const [lookup, value, isAsked] = dice.oneOf([
    ['isnull', true, (stored: number | null) => stored === null],
    ['isnull', false, (stored: number | null) => stored !== null],
    ['id__isnull', true, (stored: number | null) => stored === null],
    ['exact', key, isKey],
    ['exact', null, (stored: number | null) => stored === null],
    ['ne', key, (stored: number | null) => !isKey(stored)],
    ['in', [key, other, null], (stored: number | null) => stored === null || [key, other].includes(stored)],
  ] as const);
  return { name, lookups: { [`${name}__${lookup}`]: value }, isAsked };
}

const SCOPED = Array.from({ length: Math.ceil(COUNT / 4) }, () => {
  const entity = dice.oneOf(Object.keys(TO_ONE));
  return { entity, filters: anyFilters(), ...anyReference(entity) };
});

forEachDatabase(t, { entities }, async (t, orm) => {
  await fill(orm.em.fork());
  const model = await Model.of(orm.em.fork());
  const found: string[] = [];
  const expected: string[] = [];
  const typeOf = (name: string) => orm.getMetadata().getByClassName<{ id: number }>(name).class;
  const under = (filters: Filters, entity: string) => {
    const em = orm.em.fork();
    for (const [name, cond] of Object.entries(filters)) {
      em.addFilter({ name: `of ${name}`, cond: cond as object, entity: typeOf(name) });
    }
    return QuerySet.of(em, typeOf(entity)).orderBy('id');
  };
  for (const { entity, filters, where } of FILTERED) {
    const all = under(filters, entity);
    const records = await (where === undefined ? all : all.matching(where)).entities();
    const said = (ids: readonly number[]): string =>
      `${entity} ${JSON.stringify(where)} ${JSON.stringify(filters)}: ${ids.join()}`;
    found.push(said(records.map(({ id }) => id)));
    expected.push(said(model.find(entity, where, filters)));
  }
  for (const { entity, filters, name, lookups, isAsked } of SCOPED) {
    const all = under(filters, entity);
    const records = await all.where(byStoredKeys(lookupCondition(all.meta, lookups))).entities();
    const said = (ids: readonly number[]): string =>
      `${entity} ${JSON.stringify(lookups)} ${JSON.stringify(filters)}: ${ids.join()}`;
    found.push(said(records.map(({ id }) => id)));
    expected.push(said(model.referring(entity, name, isAsked, filters)));
  }
  t.strictSame(found, expected);
});
