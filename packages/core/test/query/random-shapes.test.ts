/**
 * Questions of one shape, with other values each time: the text of the first one serves the others. All are compared with a model that
 * knows nothing of texts, the rows and the number alike.
 */
import type { EntityProperty } from '@mikro-orm/core';
import t from 'tap';
import { fieldPath } from '../../src/fields/field-path.ts';
import { compare } from '../../src/query/language/compare.ts';
import { and, type Condition, not, or, some } from '../../src/query/language/condition.ts';
import type { Lookup } from '../../src/query/language/lookup.ts';
import { QuerySet } from '../../src/query/queryset.ts';
import { forEachDatabase, SQL_DATABASES } from '../support/databases.ts';
import { pick } from './catalog.ts';
import { Dice, entities, fill, Note, Paper, SEED } from './random-conditions.ts';

type Values = Readonly<Record<string, unknown>>;
/** A condition, and what it means of a record that was loaded with its relations. */
interface Meant {
  readonly condition: Condition;
  readonly holds: (record: Values) => boolean;
}

const COMPARISONS: readonly (readonly [Lookup, (stored: never, asked: never) => boolean])[] = [
  ['exact', (stored: unknown, asked: unknown) => stored === asked],
  ['gte', (stored: number | string, asked: number | string) => stored >= asked],
  ['lt', (stored: number | string, asked: number | string) => stored < asked],
  ['in', (stored: unknown, asked: readonly unknown[]) => asked.includes(stored)],
];
const VALUES: Readonly<Record<string, readonly (string | number)[]>> = { name: ['a', 'ab', 'b'], level: [0, 1, 2] };
/** Each of them makes several statements, which are more than are kept, and is asked several times. */
const SHAPES = 150;
const TIMES = 4;

/** Chooses a shape. Its twin is the same but for `and` and `or`, which change places. */
class Shape extends Dice {
  readonly isTwin: boolean;

  constructor(seed: number, isTwin: boolean) {
    super(seed);
    this.isTwin = isTwin;
  }
}

forEachDatabase(t, { entities, only: SQL_DATABASES }, async (t, orm) => {
  await fill(orm.em.fork());
  const metaOf = (entity: object) => orm.getMetadata().get(entity as never);
  const papers = await orm.em.fork().find(Paper, {}, { populate: ['writer', 'notes'] as never });
  const records = papers.map((paper): Values => {
    const { id, name, level, writer, notes } = paper as unknown as Values & { readonly notes: Iterable<Values> };
    return { id, name, level, writer, notes: [...notes] };
  });

  function anyComparison(shape: Shape, value: Dice, entity: object): Meant {
    const name = shape.oneOf(Object.keys(VALUES));
    const [lookup, holds] = shape.oneOf(COMPARISONS);
    const given = value.oneOf(VALUES[name]!);
    const asked = lookup === 'in' ? [given, value.oneOf(VALUES[name]!)] : given;
    const test = (stored: unknown): boolean => stored !== null && holds(stored as never, asked as never);
    if (entity === Paper && shape.below(3) === 0) {
      const path = fieldPath(metaOf(Paper), `writer.${name}`, '.');
      return {
        condition: compare(path, lookup, asked),
        holds: ({ writer }) => writer !== null && test((writer as Values)[name]),
      };
    }
    return {
      condition: compare(fieldPath(metaOf(entity), name, '.'), lookup, asked),
      holds: (record) => test(record[name]),
    };
  }

  function anyMeant(shape: Shape, value: Dice, entity: object, depth: number): Meant {
    const kind = depth === 0 ? 'compare' : shape.oneOf(['compare', 'and', 'or', 'not', 'some'] as const);
    if (kind === 'not') {
      const { condition, holds } = anyMeant(shape, value, entity, depth - 1);
      return { condition: not(condition), holds: (record) => !holds(record) };
    }
    if (kind === 'some' && entity === Paper) {
      const { condition, holds } = anyMeant(shape, value, Note, depth - 1);
      const steps = [metaOf(Paper).properties['notes' as never] as EntityProperty];
      return { condition: some(steps, condition), holds: ({ notes }) => (notes as Values[]).some(holds) };
    }
    if (kind === 'and' || kind === 'or') {
      const joined = shape.isTwin === (kind === 'and') ? 'or' : 'and';
      const parts = Array.from({ length: 2 + shape.below(2) }, () => anyMeant(shape, value, entity, depth - 1));
      const combine = joined === 'and' ? and : or;
      return {
        condition: combine(...parts.map(({ condition }) => condition)),
        holds: (record) =>
          joined === 'and' ? parts.every(({ holds }) => holds(record)) : parts.some(({ holds }) => holds(record)),
      };
    }
    return anyComparison(shape, value, entity);
  }

  const ids = pick(orm, Paper as never, 'id');
  const found: unknown[] = [];
  const expected: unknown[] = [];
  const value = new Dice(SEED + 2);
  for (let round = 0; round < SHAPES; round++) {
    for (let time = 0; time < TIMES; time++) {
      const { condition, holds } = anyMeant(new Shape(SEED + round, time % 2 === 1), value, Paper, 3);
      const [sort, offset, limit] = [value.oneOf(['id', '-id'] as const), value.below(3), 1 + value.below(9)];
      const asked = QuerySet.of(orm.em.fork(), Paper).where(condition).orderBy(sort);
      const { rows, count } = await asked.slice(offset, limit).page(ids);
      found.push([count, await asked.count(), idsOf(rows), idsOf(await asked.rows(ids))]);
      const all = records.filter(holds).map(({ id }) => id as number);
      const ordered = all.toSorted((one, other) => (sort === 'id' ? one - other : other - one));
      expected.push([all.length, all.length, ordered.slice(offset, offset + limit), ordered]);
    }
  }
  t.strictSame(found, expected, `seed ${SEED}`);
});

function idsOf(rows: readonly unknown[][]): unknown[] {
  return rows.map(([id]) => id);
}
