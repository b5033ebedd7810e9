import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { and, type Condition, type FieldPath, or } from '@viewset/core';
import {
  isToMany,
  keysetTerm,
  type KeysetTerms,
  type Place,
  placesOf,
  primaryKey,
  type Question,
} from '@viewset/core/backend';
import { collectionName } from '../mikro/collection.ts';
import type { Document } from '../mikro/mongo-driver.ts';
import { collectionSize } from './collection-size.ts';
import type { ComparedLookup } from './comparison.ts';
import { all, conditionFilter, discriminatorFilter, filterThrough } from './condition.ts';
import { rootScope } from './match.ts';
import { runPipeline } from './command.ts';
import type { KeyedQuestion, Ranking, RelatedKeys } from './keyed-question.ts';
import { MongoScope } from './scope.ts';
import { type ManyTie, manyTie } from './tie.ts';

/**
 * The collection size from which keys are read first. In smaller collections, a single command with lookups is faster.
 */
export const MIN_DOCUMENTS = 1000;
/**
 * The most keys to read for one condition or order. They come in one document, which is limited to 16 MB. If there are
 * more, each document looks up its related record.
 */
const MAX_KEYS = 50_000;

/** The found keys, and their ranks in an order. */
interface Found {
  readonly keys?: readonly unknown[];
  readonly ranks?: readonly number[];
}

/** A pipeline that reads the keys for a condition or order as one document, and a function that takes them. */
interface Ask {
  readonly meta: EntityMetadata;
  readonly pipeline: readonly Document[];
  take(found: Found): void;
}

/** No column has this name. */
const RANK = '~rank';

/**
 * Finds the keys of related records that a list's conditions and order need, with one command. The list then filters by
 * these keys. A `$lookup` would take about 0.1 ms for each document of the collection.
 */
export async function withRelatedKeys(question: Question, isOrdered: boolean): Promise<KeyedQuestion> {
  const { em, query, condition } = question;
  if (query.meta.relations.length === 0 || namesRecords(condition, query.meta)) return question;
  const keyLookUps = new KeyLookUps(question);
  keyLookUps.collect(condition);
  for (const { path } of isOrdered ? query.order.total : []) keyLookUps.collectOrder(path);
  const { lookUps } = keyLookUps;
  // Transactions do not allow $unionWith.
  if (lookUps.length > 1 && em.isInTransaction()) return question;
  if (lookUps.length === 0 || (await collectionSize(em, query.meta.root)) < MIN_DOCUMENTS) return question;
  const found = await readAll(question, lookUps);
  for (const [index, ask] of lookUps.entries()) ask.take(found.get(index) ?? {});
  return { ...question, keys: keyLookUps.keys() };
}

/**
 * Tells if a condition contains primary keys of records. Then lookups for these records are faster than reading all
 * keys.
 */
function namesRecords(condition: Condition, meta: EntityMetadata): boolean {
  if (condition.kind === 'and') return condition.conditions.some((part) => namesRecords(part, meta));
  if (condition.kind !== 'compare' || condition.path !== primaryKey(meta)) return false;
  return condition.lookup === 'exact' || condition.lookup === 'in';
}

/** Reads the results by index of the ask. An ask without results has no document. */
async function readAll(question: Question, lookUps: readonly Ask[]): Promise<ReadonlyMap<number, Found>> {
  const [first, ...others] = lookUps.map(({ pipeline }, index) => [...pipeline, { $addFields: { ask: index } }]);
  const unions = others.map((pipeline, index) => {
    return { $unionWith: { coll: collectionName(lookUps[index + 1]!.meta), pipeline } };
  });
  const documents = await runPipeline(question, lookUps[0]!.meta, [...first!, ...unions], {});
  return new Map(documents.map((document) => [document['ask'] as number, document as Found]));
}

/** Walks over a question's conditions and order, and collects the asks. */
class KeyLookUps {
  readonly lookUps: Ask[] = [];
  readonly #question: Question;
  readonly #scope: MongoScope;
  readonly #filters = new Map<Condition, Document>();
  readonly #rankings = new Map<FieldPath, Ranking>();
  /** Rewritten conditions, parts of which ask for other records. */
  readonly #reworded = new Map<Condition, Condition>();

  constructor(question: Question) {
    this.#question = question;
    this.#scope = rootScope(question);
  }

  /** Returns the keys that were found. */
  keys(): RelatedKeys {
    const filters = this.#filters;
    const keys = { filters, rankings: this.#rankings };
    for (const [condition, reworded] of this.#reworded) {
      const scope = rootScope({ ...this.#question, keys });
      const filter = conditionFilter(scope, reworded);
      if (scope.reads === 0) filters.set(condition, filter);
    }
    return keys;
  }

  collect(condition: Condition): void {
    switch (condition.kind) {
      case 'and':
      case 'or':
        for (const part of condition.conditions) this.collect(part);
        break;
      case 'not':
        this.collect(condition.condition);
        break;
      case 'compare':
      case 'some':
        this.#ask(condition);
        break;
      case 'after': {
        const reworded = inComparisons(condition);
        if (reworded === undefined) break;
        this.#reworded.set(condition, reworded);
        this.collect(reworded);
        break;
      }
      case 'constant':
      case 'filterScope':
      case 'native':
      case 'matching':
    }
  }

  /** Asks for related records in the order of one of their columns. */
  collectOrder(path: FieldPath): void {
    if (path.steps.length === 0 || !this.#readsOthers((scope) => scope.value(path))) return;
    const { inner, tie } = this.#relatedBy(path.steps);
    const column = inner.column(path.steps.slice(1), path.property);
    // A related record without a value is sorted like a missing reference.
    const match = [...this.#visible(inner, path.steps), { [column]: { $ne: null } }];
    const pipeline = [
      ...stagesOf(inner, match),
      { $limit: MAX_KEYS + 1 },
      { $setWindowFields: { sortBy: { [column]: 1 }, output: { [RANK]: { $denseRank: {} } } } },
      { $group: { _id: null, keys: { $push: `$${tie.field}` }, ranks: { $push: `$${RANK}` } } },
    ];
    this.lookUps.push({
      meta: inner.meta,
      pipeline,
      take: ({ keys = [], ranks = [] }) => {
        if (keys.length <= MAX_KEYS) this.#rankings.set(path, { field: tie.ownerField, keys, ranks });
      },
    });
  }

  /** Asks for the keys of related records that match a condition. */
  #ask(condition: Compare | Some): void {
    const steps = stepsOf(condition);
    if (steps.length === 0 || !this.#readsOthers((scope) => conditionFilter(scope, condition))) return;
    const { inner, tie } = this.#relatedBy(steps);
    const isOfAbsent = isTrueOfAbsent(condition);
    const matching = filterThrough(inner, condition, steps.slice(1));
    const match = [isOfAbsent ? { $nor: [matching] } : matching, ...this.#visible(inner, steps)];
    const pipeline = stagesOf(inner, match);
    if (tie.listOn === 'records') pipeline.push({ $unwind: `$${tie.field}` });
    // A null reference is not a reference to any record.
    pipeline.push({ $match: { [tie.field]: { $ne: null } } });
    if (tie.field !== '_id') pipeline.push({ $group: { _id: `$${tie.field}` } });
    pipeline.push({ $limit: MAX_KEYS + 1 }, { $group: { _id: null, keys: { $push: '$_id' } } });
    this.lookUps.push({
      meta: inner.meta,
      pipeline,
      take: ({ keys = [] }) => {
        if (keys.length > MAX_KEYS) return;
        const isTied = { [tie.ownerField]: { $in: keys } };
        this.#filters.set(condition, isOfAbsent ? { $nor: [isTied] } : isTied);
      },
    });
  }

  /** Tells if something needs other records. */
  #readsOthers(ask: (scope: MongoScope) => unknown): boolean {
    const scope = rootScope(this.#question);
    ask(scope);
    return scope.reads > 0;
  }

  #relatedBy([step]: readonly EntityProperty[]): { readonly inner: MongoScope; readonly tie: ManyTie } {
    const { context, meta } = this.#scope;
    const inner = new MongoScope(context, step!.targetMeta as EntityMetadata, `${this.#scope.keyOf([step!])}.`);
    return { inner, tie: manyTie(step!, meta) };
  }

  /** Lists the filters that a related record must match to be visible. */
  #visible(inner: MongoScope, [step]: readonly EntityProperty[]): Document[] {
    const filter = this.#scope.filterOf([step!]);
    const seen = isToMany(step!) ? [discriminatorFilter(inner)] : [];
    return filter === undefined ? seen : [...seen, conditionFilter(inner, filter.condition)];
  }
}

type Compare = Extract<Condition, { kind: 'compare' }>;
type Some = Extract<Condition, { kind: 'some' }>;

function stepsOf(condition: Compare | Some): readonly EntityProperty[] {
  return condition.kind === 'some' ? condition.steps : condition.path.steps;
}

/** Tells if a condition is true for a missing related record, whose columns count as NULL. */
function isTrueOfAbsent(condition: Compare | Some): boolean {
  if (condition.kind === 'some' || condition.path.toMany) return false;
  return condition.lookup === 'ne' || (condition.lookup === 'isnull' && condition.value === true);
}

function stagesOf(scope: MongoScope, match: readonly Document[]): Document[] {
  return [...scope.takeStages(), { $match: all(match) }];
}

/**
 * Expresses "after a place in an order" with comparisons. Undefined if a key is a number, because MongoDB's NaN does
 * not compare with any.
 */
function inComparisons(condition: Extract<Condition, { kind: 'after' }>): Condition | undefined {
  if (condition.keys.some(({ path }) => path.type.kind === 'number')) return undefined;
  const places = placesOf(
    condition,
    () => '',
    (_key, value) => value,
  );
  return keysetTerm(places, COMPARISONS);
}

const COMPARISONS: KeysetTerms<Condition> = {
  beyond: (place) => comparison(place, place.key.descending ? 'lt' : 'gt'),
  from: () => undefined,
  same: (place) => (place.value === null ? comparison(place, 'isnull', true) : comparison(place, 'exact')),
  isNull: (place, isWanted) => comparison(place, 'isnull', isWanted),
  both: (first, second) => and(first, second),
  either: (first, second) => or(first, second),
};

function comparison({ key: { path }, value }: Place, lookup: ComparedLookup, compared: unknown = value): Condition {
  return { kind: 'compare', path, lookup, value: compared };
}
