import type { EntityMetadata, EntityProperty, MetadataStorage, MikroORM } from '@mikro-orm/core';
import { setTimeout as sleep } from 'node:timers/promises';
import { isLeftOut } from './documents.ts';
import { type MongoDriver, mongoDriverOf } from './mongo-driver.ts';

/** An application starts without an answer of its database too, within the time that Fastify gives a hook (10 s). */
const PATIENCE_MS = 2000;

/** A unique index that an entity declares: without it MongoDB takes any number of equal values. */
export interface UniqueIndex {
  readonly collection: string;
  readonly fields: readonly string[];
}

/**
 * Lists the unique indexes of entities that their collections do not have: SQL refuses a table that is not there, MongoDB makes a collection
 * at the first write, in which nothing is unique. None of a collection that does not tell, or not in time.
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
        // A path may lead into an object: "address.city".
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
  // One that is unique in fewer fields is so in more of them.
  return wanted.filter(({ fields }) => !unique.some((index) => index.every((field) => fields.includes(field))));
}

/** The code of a collection that is not there (NamespaceNotFound). */
const NO_COLLECTION = 26;

function noneYet(error: unknown): [] {
  if ((error as { code?: unknown }).code === NO_COLLECTION) return [];
  throw error;
}

/** Has the indexes of several fields forget documents that lack one: MikroORM does so for one field. */
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
