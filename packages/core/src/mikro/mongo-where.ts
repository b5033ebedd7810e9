import { type EntityManager, type EntityMetadata, type FilterQuery, QueryHelper, Utils } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';
import type { Document } from './mongo-driver.ts';

/** The method by which MikroORM's driver writes names of fields for those of properties (internal there). */
interface MongoDriver {
  renameFields(entity: unknown, where: object, dotPaths: boolean): Document;
}

/**
 * The filter that MikroORM makes of a condition in its words.
 *
 * @param isConverted true if MikroORM has made database values of the condition's values already
 * @throws ImproperlyConfigured for an operator of MikroORM that MongoDB does not know
 */
export function whereFilter(
  em: EntityManager,
  meta: EntityMetadata,
  where: FilterQuery<object>,
  isConverted: boolean,
): Document {
  checkWhere(meta, where);
  const processed = QueryHelper.processWhere({
    where: Utils.copy(where),
    entityName: meta.class,
    metadata: em.getMetadata(),
    platform: em.getPlatform(),
    convertCustomTypes: !isConverted,
    aliased: false,
  }) as object;
  return (em.getDriver() as unknown as MongoDriver).renameFields(meta.class, processed, true);
}

/** The operators of MikroORM that its driver hands to MongoDB as they are, which knows none of them. */
const UNKNOWN = new Set(['$like', '$ilike', '$contains', '$contained', '$overlap', '$some', '$none', '$every', '$not']);

function checkWhere(meta: EntityMetadata, where: unknown): void {
  if (Array.isArray(where)) for (const one of where) checkWhere(meta, one);
  if (!Utils.isPlainObject<Record<string, unknown>>(where)) return;
  for (const [name, value] of Object.entries(where)) {
    if (UNKNOWN.has(name)) throw unsupported(meta, `${name} is no operator of MongoDB at this place`);
    if (name === '$and' || name === '$or' || name === '$nor') {
      checkWhere(meta, value);
      continue;
    }
    checkOperators(meta, value);
  }
}

function checkOperators(meta: EntityMetadata, value: unknown): void {
  if (!Utils.isPlainObject<Record<string, unknown>>(value)) return;
  const unknown = Object.keys(value).find((name) => UNKNOWN.has(name) && name !== '$not');
  if (unknown !== undefined) throw unsupported(meta, `${unknown} is no operator of MongoDB`);
}

function unsupported(meta: EntityMetadata, why: string): ImproperlyConfigured {
  return new ImproperlyConfigured(`${meta.className}: matching() cannot ask this of MongoDB: ${why}`);
}
