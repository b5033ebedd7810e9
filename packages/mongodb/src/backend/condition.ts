import type { EntityManager, EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { type Condition, ImproperlyConfigured } from '@viewset/core';
import {
  countedRecords,
  discriminatorOf,
  inLookups,
  isToMany,
  nativeForm,
  type RelatedPath,
} from '@viewset/core/backend';
import { whereFilter } from '../mikro/where.ts';
import type { Document } from '../mikro/mongo-driver.ts';
import { comparisonOf, EVERYTHING, NOTHING } from './comparison.ts';
import { keysetFilter } from './keyset.ts';
import { columnOf } from './column.ts';
import { type CompileContext, MongoScope } from './scope.ts';
import { manyTie } from './tie.ts';

/** Makes the filter of a condition that only reads the record's own columns. */
export function filterOf(em: EntityManager, meta: EntityMetadata, condition: Condition): Document {
  const scope = new MongoScope(compileContext(em, undefined), meta, '');
  const filter = conditionFilter(scope, condition);
  if (scope.reads === 0) return filter;
  throw new Error(
    `${meta.className}: a condition that reads other records cannot be used where only columns of the document are read`,
  );
}

export function compileContext(em: EntityManager, related: CompileContext['related']): CompileContext {
  return { em, related, names: { next: 0 }, conditionFilter, addAggregate };
}

/**
 * Makes the filter of a condition on the records of a scope. This is the only function that walks the condition tree.
 */
export function conditionFilter(scope: MongoScope, condition: Condition): Document {
  const found = scope.keys?.filters.get(condition);
  if (found !== undefined) return found;
  switch (condition.kind) {
    case 'constant':
      return condition.value ? EVERYTHING : NOTHING;
    case 'and':
    case 'or': {
      if (condition.conditions.length === 0) return condition.kind === 'and' ? EVERYTHING : NOTHING;
      const inner = condition.conditions.map((one) => conditionFilter(scope, one));
      return { [condition.kind === 'and' ? '$and' : '$or']: inner };
    }
    case 'not':
      // Filters are only true or false, never unknown as in SQL.
      return { $nor: [conditionFilter(scope, condition.condition)] };
    case 'compare':
      return compareFilter(scope, condition);
    case 'some':
      return someFilter(scope, condition.steps, (related) => conditionFilter(related, condition.condition));
    case 'filterScope':
      return conditionFilter(scope.filterScope(condition.place), condition.condition);
    case 'after':
      return keysetFilter(scope, condition);
    case 'native':
      checkEntity(scope.meta, condition.meta);
      return nativeForm(condition.term, 'document')(...condition.values) as Document;
    case 'matching':
      return matchingFilter(scope, condition);
  }
}

function checkEntity(meta: EntityMetadata, of: EntityMetadata): void {
  if (of.root === meta.root) return;
  throw new ImproperlyConfigured(`a condition on ${of.className} cannot be asked of ${meta.className}`);
}

/**
 * MikroORM cannot filter across relations on MongoDB, so such conditions become lookups of our own condition language.
 */
function matchingFilter(scope: MongoScope, condition: Extract<Condition, { kind: 'matching' }>): Document {
  const { meta, steps, where, converted } = condition;
  checkEntity(steps.at(-1)?.targetMeta ?? scope.meta, meta);
  if (!condition.isOfColumn) return conditionFilter(scope, inLookups(condition));
  if (steps.length === 0) return whereFilter(scope.context.em, meta, where, converted, '');
  const isThere = { [scope.join(steps) + columnOf(meta.getPrimaryProp())]: { $ne: null } };
  return all([isThere, whereFilter(scope.context.em, meta, where, converted, scope.join(steps))]);
}

type Compare = Extract<Condition, { kind: 'compare' }>;

/** @param steps the remaining relations of the path */
function compareFilter(scope: MongoScope, compare: Compare, steps = compare.path.steps): Document {
  const { path, lookup, value } = compare;
  const many = steps.findIndex(isToMany) + 1;
  if (many > 0) {
    return someFilter(scope, steps.slice(0, many), (inner) => compareFilter(inner, compare, steps.slice(many)));
  }
  const field = scope.value(steps === path.steps ? path : { ...path, steps });
  return comparisonOf(field, path, lookup, value, scope.context.em.getPlatform());
}

/** Makes the filter for the rest of a condition, on the records behind the first relation of its path. */
export function filterThrough(
  related: MongoScope,
  condition: Compare | Extract<Condition, { kind: 'some' }>,
  steps: readonly EntityProperty[],
): Document {
  if (condition.kind === 'compare') return compareFilter(related, condition, steps);
  const filterOfLast = (last: MongoScope): Document => conditionFilter(last, condition.condition);
  return steps.length === 0 ? filterOfLast(related) : someFilter(related, steps, filterOfLast);
}

/** Tests if any related record matches, by looking up one. The last of the relations is to-many. */
function someFilter(
  scope: MongoScope,
  steps: readonly EntityProperty[],
  filterOfRelated: (related: MongoScope) => Document,
): Document {
  return { [lookUpMany(scope, steps, filterOfRelated, FIRST)]: { $ne: [] } };
}

/** Adds a field with a value computed from related records, and returns the field's name. */
function addAggregate(scope: MongoScope, path: RelatedPath): string {
  const { steps, aggregate } = path.related;
  const filter = (related: MongoScope): Document => conditionFilter(related, countedRecords(path));
  if (aggregate === 'exists') return scope.addField({ $ne: [`$${lookUpMany(scope, steps, filter, FIRST)}`, []] });
  const counted = lookUpMany(scope, steps, filter, [{ $count: 'count' }]);
  return scope.addField({ $ifNull: [{ $first: `$${counted}.count` }, 0] });
}

const FIRST: readonly Document[] = [{ $limit: 1 }, { $project: { _id: 1 } }];

/**
 * Looks up matching related records, and returns the field with the result of the `last` stages. The last of the
 * relations is to-many.
 */
function lookUpMany(
  scope: MongoScope,
  steps: readonly EntityProperty[],
  filterOfRelated: (related: MongoScope) => Document,
  last: readonly Document[],
): string {
  const before = steps.slice(0, -1);
  const step = steps.at(-1) as EntityProperty;
  const meta = step.targetMeta as EntityMetadata;
  const tie = manyTie(step, before.at(-1)?.targetMeta ?? scope.meta);
  const inner = new MongoScope(scope.context, meta, `${scope.keyOf(steps)}.`);
  const filter = scope.filterOf(steps);
  const match = [discriminatorFilter(inner), filterOfRelated(inner)];
  if (filter !== undefined) match.push(conditionFilter(inner, filter.condition));
  const pipeline = [...inner.takeStages(), { $match: all(match) }, ...last];
  const localField = scope.join(before) + tie.ownerField;
  return scope.addLookup({ meta, localField, foreignField: tie.field }, pipeline);
}

/** Selects the documents of an entity that shares its collection with others. */
export function discriminatorFilter({ context, meta }: MongoScope): Document {
  const discriminator = discriminatorOf(context.em, meta);
  return discriminator === undefined ? EVERYTHING : { [discriminator.column]: { $in: discriminator.values } };
}

/** Combines filters: a document must match all of them. */
export function all(filters: readonly Document[]): Document {
  const needed = filters.filter((filter) => filter !== EVERYTHING);
  if (needed.length === 0) return EVERYTHING;
  return needed.length === 1 ? (needed[0] as Document) : { $and: needed };
}
