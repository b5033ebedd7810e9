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
import { comparedValue } from './stored-value.ts';
import { manyTie } from './tie.ts';

/** Makes the filter of a condition that reads nothing but the record's own columns. */
export function filterOf(em: EntityManager, meta: EntityMetadata, condition: Condition): Document {
  const scope = new MongoScope(compileContext(em, undefined), meta, '');
  const filter = conditionFilter(scope, condition);
  if (scope.reads === 0) return filter;
  throw new Error(`${meta.className}: a condition that reads other records came where one of own columns is wanted`);
}

export function compileContext(em: EntityManager, related: CompileContext['related']): CompileContext {
  return { em, related, names: { next: 0 }, conditionFilter, addTold };
}

/** Makes the filter of a condition on the records of a scope: the one walk over its tree. */
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
      // A filter is true or false of a document, never unknown.
      return { $nor: [conditionFilter(scope, condition.condition)] };
    case 'compare':
      return compareFilter(scope, condition);
    case 'unchanged': {
      const { path, raw } = condition;
      const value = comparedValue(path, raw, scope.context.em.getPlatform());
      return { [scope.value(path)]: { $eq: value } };
    }
    case 'some':
      return someFilter(scope, condition.steps, (related) => conditionFilter(related, condition.condition));
    case 'apart':
      return conditionFilter(scope.apart(condition.place), condition.condition);
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

/** MikroORM asks nothing across relations of MongoDB: there its words are taken for those of the language. */
function matchingFilter(scope: MongoScope, condition: Extract<Condition, { kind: 'matching' }>): Document {
  const { meta, steps, where, converted } = condition;
  checkEntity(steps.at(-1)?.targetMeta ?? scope.meta, meta);
  if (!condition.isOfColumn) return conditionFilter(scope, inLookups(condition));
  if (steps.length === 0) return whereFilter(scope.context.em, meta, where, converted, '');
  const isThere = { [scope.join(steps) + columnOf(meta.getPrimaryProp())]: { $ne: null } };
  return all([isThere, whereFilter(scope.context.em, meta, where, converted, scope.join(steps))]);
}

type Compare = Extract<Condition, { kind: 'compare' }>;

/** @param steps the relations of the path that are still to be walked */
function compareFilter(scope: MongoScope, compare: Compare, steps = compare.path.steps): Document {
  const { path, lookup, value } = compare;
  const many = steps.findIndex(isToMany) + 1;
  if (many > 0) {
    return someFilter(scope, steps.slice(0, many), (inner) => compareFilter(inner, compare, steps.slice(many)));
  }
  const field = scope.value(steps === path.steps ? path : { ...path, steps });
  return comparisonOf(field, path, lookup, value, scope.context.em.getPlatform());
}

/** Makes the filter of what is left of a condition behind the first relation of its path, on the records that this leads to. */
export function filterThrough(
  related: MongoScope,
  condition: Compare | Extract<Condition, { kind: 'some' }>,
  steps: readonly EntityProperty[],
): Document {
  if (condition.kind === 'compare') return compareFilter(related, condition, steps);
  const filterOfLast = (last: MongoScope): Document => conditionFilter(last, condition.condition);
  return steps.length === 0 ? filterOfLast(related) : someFilter(related, steps, filterOfLast);
}

/** Asks if there is a related record that passes: one is looked up. The last of the relations that lead there is to many. */
function someFilter(
  scope: MongoScope,
  steps: readonly EntityProperty[],
  filterOfRelated: (related: MongoScope) => Document,
): Document {
  return { [lookUpMany(scope, steps, filterOfRelated, FIRST)]: { $ne: [] } };
}

/** Adds a field with the value that related records tell of a record of a scope, and returns its name. */
function addTold(scope: MongoScope, path: RelatedPath): string {
  const { steps, tells } = path.related;
  const filter = (related: MongoScope): Document => conditionFilter(related, countedRecords(path));
  if (tells === 'exists') return scope.addField({ $ne: [`$${lookUpMany(scope, steps, filter, FIRST)}`, []] });
  const counted = lookUpMany(scope, steps, filter, [{ $count: 'count' }]);
  return scope.addField({ $ifNull: [{ $first: `$${counted}.count` }, 0] });
}

const FIRST: readonly Document[] = [{ $limit: 1 }, { $project: { _id: 1 } }];

/**
 * Looks up the related records that pass, and returns the field of what the last stages make of them. The last of the relations that
 * lead there is to many.
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

/** Tells an entity's documents from those of others in the same collection. */
export function discriminatorFilter({ context, meta }: MongoScope): Document {
  const discriminator = discriminatorOf(context.em, meta);
  return discriminator === undefined ? EVERYTHING : { [discriminator.column]: { $in: discriminator.values } };
}

/** A filter that is passed where all are. */
export function all(filters: readonly Document[]): Document {
  const asking = filters.filter((filter) => filter !== EVERYTHING);
  if (asking.length === 0) return EVERYTHING;
  return asking.length === 1 ? (asking[0] as Document) : { $and: asking };
}
