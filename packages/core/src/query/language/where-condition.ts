import { Utils, type EntityMetadata, type EntityProperty, type FilterQuery } from '@mikro-orm/core';
import { HttpError } from '../../errors/errors.ts';
import { fieldPath, storedPath } from '../../fields/field-path.ts';
import { customTypeOf } from '../../fields/field-type.ts';
import { isPolymorphic } from '../../fields/property.ts';
import { getOrMake } from '../../support/get-or-make.ts';
import { LruMap } from '../../support/lru-map.ts';
import { isEmptyWhere } from '../../mikro/filters.ts';
import { compare } from './compare.ts';
import { always, and, matching, never, not, or, type Condition } from './condition.ts';
import { lookupsFor, type Lookup } from './lookup.ts';

const LOOKUP_OF: Readonly<Record<string, Lookup>> = {
  $eq: 'exact',
  $gt: 'gt',
  $gte: 'gte',
  $lt: 'lt',
  $lte: 'lte',
  $in: 'in',
  $contains: 'contains',
  $overlap: 'overlaps',
};

/**
 * Converts a MikroORM filter to a condition. Most filters compare columns of the entity with values. These become
 * direct comparisons, which a database plans better than a sub-select. All others become `matching`, one object for
 * equal filters. MikroORM evaluates a filter for each query, and results derived from a condition are cached by object.
 */
export function whereCondition(meta: EntityMetadata, where: FilterQuery<object>): Condition {
  return plainCondition(meta, where) ?? rememberedCondition(meta, where) ?? convertCondition(meta, where);
}

function convertCondition(meta: EntityMetadata, where: FilterQuery<object>): Condition {
  return { ...(matching(meta, where) as Extract<Condition, { kind: 'matching' }>), converted: true };
}

/** By the text of the filter. Each entity has room for the filters of this many tenants or users. */
const kept = new WeakMap<EntityMetadata, LruMap<string, Condition>>();
const MAX_CONDITIONS = 100;
const MAX_TEXT = 1000;

function rememberedCondition(meta: EntityMetadata, where: FilterQuery<object>): Condition | undefined {
  const text = textOf(where);
  if (text === undefined || text.length > MAX_TEXT) return undefined;
  const ofEntity = getOrMake(kept, meta, () => new LruMap<string, Condition>(MAX_CONDITIONS));
  // The cached condition must not change with an object of the application.
  return getOrMake(ofEntity, text, () => convertCondition(meta, structuredClone(where)));
}

/** Writes a `where` as a unique text. Undefined if a part of it has no text, such as a fragment of SQL. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (['number', 'boolean', 'undefined'].includes(typeof value) || value === null) return String(value);
  if (value instanceof Date) return `@${value.getTime()}`;
  if (Array.isArray(value)) return textOfAll('[', value.map(textOf));
  if (!Utils.isPlainObject<object>(value) || Object.getOwnPropertySymbols(value).length > 0) return undefined;
  const entries = Object.entries(value).map(([name, inner]) => {
    const text = textOf(inner);
    return text && `${JSON.stringify(name)}:${text}`;
  });
  return textOfAll('{', entries);
}

function textOfAll(opening: string, texts: readonly (string | undefined)[]): string | undefined {
  return texts.includes(undefined) ? undefined : `${opening}${texts.join()})`;
}

/**
 * Converts the `where` option of a to-many relation to a condition on its records. Without the option, it is `always`.
 */
export function relationCondition({ where, targetMeta }: EntityProperty): Condition {
  if (where === undefined || isEmptyWhere(where as object)) return always;
  const meta = targetMeta as EntityMetadata;
  return plainCondition(meta, where) ?? matching(meta, where as FilterQuery<object>);
}

function plainCondition(meta: EntityMetadata, where: unknown): Condition | undefined {
  if (!Utils.isPlainObject<Record<string, unknown>>(where) || Object.getOwnPropertySymbols(where).length > 0) {
    return undefined;
  }
  return all(Object.entries(where).map(([name, value]) => entryCondition(meta, name, value)));
}

function all(conditions: readonly (Condition | undefined)[]): Condition | undefined {
  return conditions.every((condition) => condition !== undefined) ? and(...conditions) : undefined;
}

/**
 * Converts a MikroORM condition on one column. Undefined if the lookups cannot express it. As in `em.find`, a foreign
 * key is compared as it is stored.
 *
 * @param name the property, or a path to it through relations
 */
export function entryCondition(
  meta: EntityMetadata,
  name: string,
  value: unknown,
  property = (meta.properties as Partial<Record<string, EntityProperty>>)[name],
): Condition | undefined {
  if (name === '$and' || name === '$or') {
    const inner = Array.isArray(value) ? value.map((item) => plainCondition(meta, item)) : [undefined];
    if (!inner.every((condition) => condition !== undefined)) return undefined;
    return name === '$and' ? and(...inner) : or(...inner);
  }
  if (property === undefined || property.formula !== undefined || !isPlainColumn(property)) return undefined;
  if (!Utils.isPlainObject<Record<string, unknown>>(value)) return comparison(meta, name, 'exact', value);
  if (Object.getOwnPropertySymbols(value).length > 0) return undefined;
  return all(Object.entries(value).map(([operator, operand]) => operation(meta, name, operator, operand)));
}

function isPlainColumn(property: EntityProperty): boolean {
  return (
    property.fieldNames?.length === 1 &&
    property.persist !== false &&
    !isPolymorphic(property) &&
    customTypeOf(property) === undefined
  );
}

function operation(meta: EntityMetadata, name: string, operator: string, value: unknown): Condition | undefined {
  switch (operator) {
    case '$exists':
      return comparison(meta, name, 'isnull', value !== true);
    case '$ne':
      return value === null
        ? comparison(meta, name, 'ne', null)
        : unlike(meta, name, comparison(meta, name, 'ne', value));
    case '$nin': {
      if (!Array.isArray(value)) return undefined;
      if (value.length === 0) return always;
      const found = value.includes(null) ? always : comparison(meta, name, 'in', value);
      return unlike(meta, name, found && not(found));
    }
    default: {
      const lookup = Object.hasOwn(LOOKUP_OF, operator) ? LOOKUP_OF[operator] : undefined;
      return lookup === undefined ? undefined : comparison(meta, name, lookup, value);
    }
  }
}

/** In MikroORM, as in SQL, NULL does not match "not equal". */
function unlike(meta: EntityMetadata, name: string, condition: Condition | undefined): Condition | undefined {
  return all([comparison(meta, name, 'isnull', false), condition]);
}

const TAKES_LIST: ReadonlySet<Lookup> = new Set(['in', 'contains', 'overlaps']);

/** Undefined if a lookup does not support the field or the value, although MikroORM may. */
function comparison(meta: EntityMetadata, name: string, lookup: Lookup, value: unknown): Condition | undefined {
  if (value === undefined || (!TAKES_LIST.has(lookup) && Array.isArray(value))) return undefined;
  if (TAKES_LIST.has(lookup) && lookup !== 'in' && !Array.isArray(value)) return undefined;
  if (value === null && lookup !== 'exact' && lookup !== 'ne') return never;
  // In SQL, NULL matches no list, not even one with NULL.
  const wanted = lookup === 'in' && Array.isArray(value) ? value.filter((one) => one !== null) : value;
  try {
    const path = storedPath(fieldPath(meta, name, '.'));
    return lookupsFor(path.type).includes(lookup) ? compare(path, lookup, wanted) : undefined;
  } catch (error) {
    if (error instanceof HttpError) return undefined;
    throw error;
  }
}
