/** Conditions of MikroORM at random, and entities to ask them of. */
import { defineEntity, type EntityManager, p } from '@mikro-orm/core';
import { numbers } from '../support/numbers.ts';

const Writer = defineEntity({
  name: 'Writer',
  properties: {
    id: p.integer().primary(),
    name: p.string().nullable(),
    level: p.integer().nullable(),
    papers: () => p.oneToMany(Paper).mappedBy('writer'),
  },
});
const Label = defineEntity({
  name: 'Label',
  properties: {
    id: p.integer().primary(),
    name: p.string().nullable(),
    level: p.integer().nullable(),
    papers: () => p.manyToMany(Paper).mappedBy('labels'),
  },
});
export const Paper = defineEntity({
  name: 'Paper',
  properties: {
    id: p.integer().primary(),
    name: p.string().nullable(),
    level: p.integer().nullable(),
    writer: () => p.manyToOne(Writer).nullable(),
    reader: () => p.manyToOne(Writer),
    labels: () => p.manyToMany(Label),
    notes: () => p.oneToMany(Note).mappedBy('paper'),
  },
});
export const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary(),
    name: p.string().nullable(),
    level: p.integer().nullable(),
    paper: () => p.manyToOne(Paper).nullable(),
  },
});
export const entities = [Writer, Label, Paper, Note];
export const NAMES = entities.map((entity) => entity.meta.className);

export type Where = Record<string, unknown>;

/** Chooses by numbers that follow from a seed alone. */
export class Dice {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = numbers(seed);
  }

  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  oneOf<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }
}

const TEXTS = ['a', 'ab', 'b', null] as const;
const LEVELS = [0, 1, 2, null] as const;

export async function fill(em: EntityManager): Promise<void> {
  const dice = new Dice(7);
  const values = (id: number) => ({ id, name: dice.oneOf(TEXTS), level: dice.oneOf(LEVELS) });
  const writers = [1, 2, 3, 4, 5, 6].map((id) => em.create(Writer, values(id)));
  const labels = [1, 2, 3, 4, 5].map((id) => em.create(Label, values(id)));
  const papers = Array.from({ length: 14 }, (_, index) =>
    em.create(Paper, {
      ...values(index + 1),
      writer: dice.oneOf([...writers.slice(0, 4), null]),
      reader: dice.oneOf(writers.slice(0, 5)),
      labels: labels.slice(0, 4).filter(() => dice.below(3) === 0),
    }),
  );
  for (let id = 1; id <= 24; id++) {
    em.create(Note, { ...values(id), paper: dice.oneOf([...papers.slice(0, 10), null]) });
  }
  await em.flush();
}

/** Relations to one, and to many, by entity. */
export const TO_ONE: Record<string, Record<string, string>> = {
  Paper: { writer: 'Writer', reader: 'Writer' },
  Note: { paper: 'Paper' },
};
export const TO_MANY: Record<string, Record<string, string>> = {
  Writer: { papers: 'Paper' },
  Label: { papers: 'Paper' },
  Paper: { labels: 'Label', notes: 'Note' },
};

/**
 * A condition in MikroORM's words, without a `$not` that stands directly in another one or in a relation many to many, of which MikroORM
 * makes something else.
 *
 * @param isThere true if the record is there wherever it is asked, rather than NULL: to SQL `null in (…)` depends on whether there is any
 *   record in the list, so `$some`, `$none` and `$every` are asked only of such a record
 */
export function anyWhere(
  dice: Dice,
  entity: string,
  depth: number,
  isThere: boolean,
  kinds: readonly string[] = KINDS,
): Where {
  const parts = Array.from({ length: dice.oneOf([1, 1, 1, 2, 2, 3]) }, () =>
    anyEntry(dice, entity, depth, isThere, kinds),
  );
  return Object.assign({}, ...parts) as Where;
}

const KINDS = ['column', 'group', 'one', 'many', 'many', 'not', 'not'] as const;
const NO_NOT = KINDS.slice(0, 5);

function anyEntry(dice: Dice, entity: string, depth: number, isThere: boolean, kinds: readonly string[]): Where {
  const kind = depth === 0 ? 'column' : dice.oneOf(kinds);
  const inner = (target: string, isInnerThere: boolean, innerKinds?: readonly string[]): Where =>
    anyWhere(dice, target, depth - 1, isInnerThere, innerKinds);
  if (kind === 'not') return { $not: inner(entity, isThere, NO_NOT) };
  if (kind === 'group') {
    const parts = Array.from({ length: dice.oneOf([1, 2, 2, 3]) }, () => inner(entity, isThere));
    return { [dice.oneOf(['$and', '$or'])]: parts };
  }
  const relations = kind === 'one' ? TO_ONE[entity] : kind === 'many' ? TO_MANY[entity] : undefined;
  if (relations === undefined) return anyColumn(dice);
  const [name, target] = dice.oneOf(Object.entries(relations));
  const operator = kind === 'many' && isThere ? dice.oneOf(['', '', '$some', '$none', '$every']) : '';
  const isManyToMany = entity === 'Label' || name === 'labels';
  const asked = inner(target, operator !== '', isManyToMany ? NO_NOT : KINDS);
  return { [name]: operator === '' ? asked : { [operator]: asked } };
}

export function anyColumn(dice: Dice): Where {
  if (dice.below(5) === 0) return { name: dice.oneOf([{ $like: 'a%' }, { $like: '%b' }]) };
  const [name, values] = dice.oneOf([
    ['name', TEXTS],
    ['level', LEVELS],
  ] as const);
  const value = dice.oneOf<unknown>(values);
  const given = value ?? dice.oneOf<unknown>(values.slice(0, 3));
  const lists = [[], [given], [given, dice.oneOf<unknown>(values)]];
  return {
    [name]: dice.oneOf([
      value,
      { $eq: value },
      { $ne: value },
      { $gt: given },
      { $lte: given },
      { $gte: given, $lt: dice.oneOf<unknown>(values.slice(0, 3)) },
      { $in: dice.oneOf(lists) },
      { $nin: dice.oneOf(lists) },
    ]),
  };
}

/** TEST_RANDOM_COUNT and TEST_RANDOM_SEED ask for more, and for others. */
export const COUNT = Number(process.env['TEST_RANDOM_COUNT'] ?? 300);
export const SEED = Number(process.env['TEST_RANDOM_SEED'] ?? 20261123);
