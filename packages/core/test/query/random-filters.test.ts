/**
 * Filters of MikroORM at random that ask through relations, back to their own entity too, against a model of what they mean: `em.find` fails
 * at many of them, or mixes up the paths of their joins.
 */
import t from 'tap';
import { QuerySet } from '../../src/query/queryset.ts';
import { forEachDatabase } from '../support/databases.ts';
import { anyColumn, anyWhere, COUNT, Dice, entities, fill, NAMES, SEED, type Where } from './random-conditions.ts';
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

const ASKED = Array.from({ length: Math.ceil(COUNT / 2) }, () => {
  const entity = dice.oneOf(NAMES);
  return { entity, filters: anyFilters(), where: dice.below(3) === 0 ? anyWhere(dice, entity, 2, true) : undefined };
});

forEachDatabase(t, { entities }, async (t, orm) => {
  await fill(orm.em.fork());
  const model = await Model.of(orm.em.fork());
  const found: string[] = [];
  const expected: string[] = [];
  for (const { entity, filters, where } of ASKED) {
    const em = orm.em.fork();
    const typeOf = (name: string) => orm.getMetadata().getByClassName<{ id: number }>(name).class;
    for (const [name, cond] of Object.entries(filters)) {
      em.addFilter({ name: `of ${name}`, cond: cond as object, entity: typeOf(name) });
    }
    const all = QuerySet.of(em, typeOf(entity)).orderBy('id');
    const records = await (where === undefined ? all : all.matching(where)).entities();
    const said = (ids: readonly number[]): string =>
      `${entity} ${JSON.stringify(where)} ${JSON.stringify(filters)}: ${ids.join()}`;
    found.push(said(records.map(({ id }) => id)));
    expected.push(said(model.find(entity, where, filters)));
  }
  t.strictSame(found, expected);
});
