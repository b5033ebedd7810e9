import { type EntityManager, type EntityMetadata, type FilterQuery, QueryHelper, Utils } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';
import { isRecord } from '../json.ts';
import type { Document } from './mongo-driver.ts';

/** The method by which MikroORM's driver writes names of fields for those of properties (internal there). */
interface MongoDriver {
  renameFields(entity: unknown, where: object, dotPaths: boolean): Document;
}

/**
 * The filter that MikroORM makes of a condition in its words, with what its driver would hand to MongoDB in words that this does not
 * know: `$like`, and `$not` of a whole condition.
 *
 * @param isConverted true if MikroORM has made database values of the condition's values already
 * @param prefix stands before the names of the fields: the place of the document in another one, with a dot at its end
 * @throws ImproperlyConfigured for an operator that MongoDB does not have
 */
export function whereFilter(
  em: EntityManager,
  meta: EntityMetadata,
  where: FilterQuery<object>,
  isConverted: boolean,
  prefix: string,
): Document {
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
  const filter: Document = {};
  const negated: Document[] = [];
  for (const [name, value] of Object.entries(where)) {
    if (name === '$not') negated.push(filterOf(meta, value as Document, prefix));
    else if (LISTS.has(name)) filter[name] = [value].flat().map((one) => filterOf(meta, one as Document, prefix));
    else filter[name.startsWith('$') ? name : prefix + name] = operatorsOf(meta, value);
  }
  return negated.length === 0 ? filter : { $and: [filter, { $nor: negated }] };
}

/** The operators of MikroORM that MongoDB does not have. */
const UNKNOWN = new Set(['$ilike', '$contains', '$contained', '$overlap', '$some', '$none', '$every', '$fulltext']);

function operatorsOf(meta: EntityMetadata, value: unknown): unknown {
  if (!isRecord(value) || !Utils.isPlainObject(value)) return value;
  const operators: Document = {};
  for (const [name, operand] of Object.entries(value)) {
    if (UNKNOWN.has(name)) {
      throw new ImproperlyConfigured(
        `${meta.className}: matching() cannot ask for ${name}: MongoDB has no such operator`,
      );
    }
    if (name === '$like') Object.assign(operators, { $regex: likePattern(String(operand)), $options: 's' });
    else operators[name] = name === '$not' ? operatorsOf(meta, operand) : operand;
  }
  return operators;
}

/** A pattern of LIKE as a regular expression; a backslash escapes. Case counts, as on PostgreSQL. */
function likePattern(like: string): string {
  const pattern = like.replaceAll(/\\(.)|[%_]|[\\^$.*+?()[\]{}|]/gs, (found, literal: string | undefined) => {
    if (literal !== undefined) return literal.replace(/\W/, String.raw`\$&`);
    return found === '%' ? '.*' : found === '_' ? '.' : `\\${found}`;
  });
  return `^${pattern}\\z`;
}
