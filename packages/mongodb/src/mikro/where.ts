import { type EntityManager, type EntityMetadata, type FilterQuery, QueryHelper, Utils } from '@mikro-orm/core';
import { ImproperlyConfigured } from '@viewset/core';
import { isRecord } from '@viewset/core/backend';
import type { Document } from './mongo-driver.ts';

/** The method of MikroORM's driver that renames properties to fields (internal there). */
interface MongoDriver {
  renameFields(entity: unknown, where: object, dotPaths: boolean): Document;
}

/**
 * Makes the filter for MikroORM's condition on one column, or for `$not` of one. It translates `$like` and `$not`,
 * which MongoDB does not know in this form, and gives NULL SQL's meaning: neither equal nor unequal to anything.
 *
 * @param isConverted true if MikroORM has already converted the condition's values for the database
 * @param prefix goes before field names: the document's place in another one, ending with a dot
 * @throws ImproperlyConfigured for operators that MongoDB lacks, and for SQL fragments
 */
export function whereFilter(
  em: EntityManager,
  meta: EntityMetadata,
  where: FilterQuery<object>,
  isConverted: boolean,
  prefix: string,
): Document {
  const inner = ('$not' in where ? where.$not : where) as object;
  if (Object.getOwnPropertySymbols(inner).length > 0) {
    throw new ImproperlyConfigured(`${meta.className}: a fragment of SQL cannot be asked of MongoDB`);
  }
  const processed = QueryHelper.processWhere({
    where: Utils.copy(where),
    entityName: meta.class,
    metadata: em.getMetadata(),
    platform: em.getPlatform(),
    convertCustomTypes: !isConverted,
    aliased: false,
  }) as object;
  const driver = em.getDriver() as unknown as MongoDriver;
  return filterOf(meta, driver.renameFields(meta.class, processed, true), prefix);
}

const LISTS = new Set(['$and', '$or', '$nor']);

function filterOf(meta: EntityMetadata, where: Document, prefix: string): Document {
  const filters = Object.entries(where).flatMap(([name, value]): Document[] => {
    if (name === '$not') return [oppositeOf(meta, value as Document, prefix)];
    if (LISTS.has(name)) return [{ [name]: [value].flat().map((one) => filterOf(meta, one as Document, prefix)) }];
    return name.startsWith('$')
      ? [{ [name]: value }]
      : operatorsOf(meta, value).map((operators) => ({ [prefix + name]: operators }));
  });
  // MongoDB rejects an empty `$and`.
  return filters.length > 1 ? { $and: filters } : (filters[0] ?? {});
}

function oppositeOf(meta: EntityMetadata, where: Document, prefix: string): Document {
  const opposites = Object.entries(where).map(([name, value]) => {
    const opposite = { $nor: [filterOf(meta, { [name]: value }, prefix)] };
    return name.startsWith('$') ? opposite : { ...opposite, [prefix + name]: { $ne: null } };
  });
  return opposites.length === 1 ? (opposites[0] as Document) : { $or: opposites };
}

/** MikroORM's operators that MongoDB lacks. */
const UNKNOWN = new Set(['$ilike', '$contains', '$contained', '$overlap', '$some', '$none', '$every', '$fulltext']);

/** Returns the operators for a field, which must all match. */
function operatorsOf(meta: EntityMetadata, value: unknown): unknown[] {
  if (!isRecord(value) || !Utils.isPlainObject(value)) return [value];
  const operators: Document = {};
  const conditions: unknown[] = [operators];
  for (const [name, operand] of Object.entries(value)) {
    if (UNKNOWN.has(name)) {
      throw new ImproperlyConfigured(
        `${meta.className}: matching() cannot ask for ${name}: MongoDB has no such operator`,
      );
    }
    if (name === '$like') Object.assign(operators, { $regex: likePattern(String(operand)), $options: 's' });
    else if (name === '$ne' && operand !== null) conditions.push({ $nin: [null, operand] });
    else if (name === '$nin' && Array.isArray(operand)) conditions.push(unlikeAll(operand));
    else if (name === '$in' && Array.isArray(operand)) operators[name] = operand.filter((one) => one !== null);
    else operators[name] = operand;
  }
  return conditions.filter((one) => Object.keys(one as object).length > 0);
}

function unlikeAll(values: readonly unknown[]): Document {
  if (values.length === 0) return {};
  return values.includes(null) ? { $in: [] } : { $nin: [null, ...values] };
}

/** Converts a LIKE pattern to a regular expression. A backslash escapes. It is case-sensitive, as on PostgreSQL. */
function likePattern(like: string): string {
  const pattern = like.replaceAll(/\\(.)|[%_]|[\\^$.*+?()[\]{}|]/gs, (found, literal: string | undefined) => {
    if (literal !== undefined) return literal.replace(/\W/, String.raw`\$&`);
    return found === '%' ? '.*' : found === '_' ? '.' : `\\${found}`;
  });
  return `^${pattern}\\z`;
}
