import type { EntityMetadata, EntityProperty, MetadataStorage, MikroORM } from '@mikro-orm/core';
import { setTimeout as sleep } from 'node:timers/promises';
import { isLeftOut } from './documents.ts';
import { type MongoDriver, mongoDriverOf } from './mongo-driver.ts';

/** An application also starts if its database is down, and within the time that Fastify allows a hook (10 s). */
const PATIENCE_MS = 2000;

/** A unique index that an entity declares. Without it, MongoDB accepts duplicates. */
export interface UniqueIndex {
  readonly collection: string;
  readonly fields: readonly string[];
}

/**
 * Lists unique indexes that entities declare but their collections lack. SQL rejects a missing table, but MongoDB
 * creates a collection at the first write, without unique indexes. Lists none for a collection that does not answer, or
 * not in time.
 */
export async function missingIndexes(orm: MikroORM): Promise<UniqueIndex[]> {
  const driver = mongoDriverOf(orm);
  if (driver === undefined) return [];
  const wanted = Map.groupBy([...driver.getMetadata()].flatMap(uniqueIndexesOf), ({ collection }) => collection);
  const late = sleep(PATIENCE_MS, [], { ref: false });
  const missing = [...wanted].map(([collection, indexes]) =>
    Promise.race([missingOf(driver, collection, indexes), late]).catch(() => []),
  );
  return (await Promise.all(missing)).flat();
}

/** Returns the names of the indexes of all entities' collections. */
export async function indexNames(orm: MikroORM): Promise<ReadonlySet<string>> {
  const driver = mongoDriverOf(orm);
  if (driver === undefined) return new Set();
  const collections = new Set([...driver.getMetadata()].flatMap(({ collection }) => collection ?? []));
  const connection = driver.getConnection('write');
  const indexes = await Promise.all(
    [...collections].map((name) => connection.getCollection(name).indexes().catch(noneYet)),
  );
  return new Set(indexes.flat().map(({ name }) => name));
}

function uniqueIndexesOf(meta: EntityMetadata): UniqueIndex[] {
  const { collection } = meta;
  if (collection === undefined || meta.embeddable || meta.virtual) return [];
  const alone = meta.props.filter(({ unique, primary }) => unique !== undefined && unique !== false && !primary);
  const together = meta.uniques.flatMap(({ properties }) => (properties === undefined ? [] : [[properties].flat()]));
  return [
    ...alone.map((property) => ({ collection, fields: fieldsOf(property) })),
    ...together.map((names) => ({
      collection,
      fields: names.flatMap((name) => {
        // A path may point into an object: "address.city".
        const [root, ...path] = name.split('.');
        const property = meta.properties[root as never] as EntityProperty | undefined;
        return (property?.fieldNames ?? [root!]).map((field) => [field, ...path].join('.'));
      }),
    })),
  ];
}

function fieldsOf({ embeddedPath, fieldNames }: EntityProperty): readonly string[] {
  return embeddedPath === undefined ? fieldNames : [embeddedPath.join('.')];
}

async function missingOf(
  driver: MongoDriver,
  name: string,
  wanted: readonly UniqueIndex[],
): Promise<readonly UniqueIndex[]> {
  const known = await driver.getConnection('write').getCollection(name).indexes().catch(noneYet);
  const unique = known.filter((index) => index.unique === true).map(({ key }) => Object.keys(key));
  // An index that is unique in fewer fields also makes more fields unique.
  return wanted.filter(({ fields }) => !unique.some((index) => index.every((field) => fields.includes(field))));
}

/** The error code for a missing collection (NamespaceNotFound). */
const NO_COLLECTION = 26;

function noneYet(error: unknown): [] {
  if ((error as { code?: unknown }).code === NO_COLLECTION) return [];
  throw error;
}

/** Makes unique indexes of several fields ignore documents that lack one. MikroORM does this for single fields. */
export function leaveNullsOut(entities: MetadataStorage): void {
  for (const meta of entities) {
    for (const unique of meta.uniques) {
      if (unique.properties === undefined || unique.where !== undefined) continue;
      const nullable = [unique.properties].flat().flatMap((name) => {
        const property = meta.properties[name as never];
        return property !== undefined && isLeftOut(meta, property) ? property.fieldNames : [];
      });
      if (nullable.length > 0) unique.where = Object.fromEntries(nullable.map((field) => [field, { $exists: true }]));
    }
  }
}
