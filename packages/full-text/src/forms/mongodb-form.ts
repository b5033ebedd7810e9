import type { EntityManager } from '@mikro-orm/core';
import type { NativeTerm } from '@viewset/core';
import type { Definition } from '../definition.ts';
import type { Phrase, SearchTerms } from '../terms.ts';
import type { Form, IndexState } from './form.ts';

type Document = Readonly<Record<string, unknown>>;

/**
 * By default a document's field `language` would set its language, and an unknown language would make the write fail.
 */
const NO_LANGUAGE_FIELD = '~language';

/** A text index. MongoDB allows one per collection. */
export function mongoForm(definition: Definition): Form {
  const { columns, language, name, meta } = definition;
  const fields = columns.map(({ column }) => column);
  const inAny = (pattern: string): Document => ({
    $or: fields.map((field) => ({ [field]: { $regex: pattern, $options: 'i' } })),
  });
  const matches: NativeTerm = {
    name: 'full text',
    document: (search, required, excluded) => ({
      $and: [
        { $text: { $search: search, $language: language, $diacriticSensitive: true } },
        ...(required as string[]).map(inAny),
        ...(excluded as string[]).map((pattern) => ({ $nor: [inAny(pattern)] })),
      ],
    }),
  };
  const rank: NativeTerm = { name: 'rank', document: () => ({ $meta: 'textScore' }) };
  const index = {
    keys: Object.fromEntries(fields.map((field) => [field, 'text'])),
    options: {
      name,
      weights: Object.fromEntries(columns.map(({ column, weight }) => [column, weight])),
      default_language: language,
      language_override: NO_LANGUAGE_FIELD,
    },
  };
  return {
    matches,
    rank,
    values: valuesOf,
    rankValues: (terms) => valuesOf(terms).slice(0, 1),
    statements: (isOutdated) => {
      const collection = `db.getCollection(${JSON.stringify(meta.collection)})`;
      const create = `${collection}.createIndex(${JSON.stringify(index.keys)}, ${JSON.stringify(index.options)})`;
      return isOutdated ? [`${collection}.dropIndex(${JSON.stringify(name)})`, create] : [create];
    },
    another: 'declare the same search in both, as MongoDB allows one only',
    keeps: [name],
    checkGenerator: () => {},
    inspect: (em) => inspect(em, definition),
    create: async (em, isOutdated) => {
      const collection = collectionOf(em, definition);
      if (isOutdated) await dropIndex(collection, name);
      await collection.createIndex(index.keys, index.options);
    },
  };
}

/**
 * Returns the values of the condition. The index finds documents with any of the words, in any form. MongoDB can
 * require several words only exactly as written, so a pattern for each phrase requires them instead.
 */
function valuesOf({ required, excluded }: SearchTerms): readonly unknown[] {
  const isOneWord = required.length === 1 && required[0]?.length === 1;
  const words = [...new Set(required.flat())];
  const unwanted = excluded.filter(({ length }) => length === 1).map(([word]) => `-${word}`);
  return [
    [...words, ...unwanted].join(' '),
    isOneWord ? [] : required.map(patternOf),
    excluded.filter(({ length }) => length > 1).map(patternOf),
  ];
}

/** Words contain only letters and digits, so nothing in them needs escaping. */
function patternOf(phrase: Phrase): string {
  return `(?<![\\p{L}\\p{N}])${phrase.join('[^\\p{L}\\p{N}]+')}(?![\\p{L}\\p{N}])`;
}

/** The part of a driver's collection that is used. */
interface Collection {
  createIndex(keys: Document, options: Document): Promise<string>;
  dropIndex(name: string): Promise<unknown>;
  listIndexes(): { toArray(): Promise<Document[]> };
}

function collectionOf(em: EntityManager, { meta }: Definition): Collection {
  const connection = em.getConnection() as unknown as { getCollection(name: string): Collection };
  return connection.getCollection(meta.collection);
}

async function inspect(em: EntityManager, definition: Definition): Promise<IndexState> {
  const { columns, language, name } = definition;
  const indexes = await listIndexes(collectionOf(em, definition));
  if (indexes === undefined) return { kind: 'no table' };
  const found = indexes.find(({ weights }) => weights !== undefined);
  if (found === undefined) return { kind: 'absent' };
  if (found['name'] !== name) {
    const problem = `its collection has the text index "${String(found['name'])}", and MongoDB allows one only`;
    return { kind: 'foreign', problem };
  }
  const weights = found['weights'] as Record<string, number>;
  const isCurrent =
    found['default_language'] === language &&
    found['language_override'] === NO_LANGUAGE_FIELD &&
    Object.keys(weights).length === columns.length &&
    columns.every(({ column, weight }) => weights[column] === weight);
  return { kind: isCurrent ? 'current' : 'outdated' };
}

/** Another process may have dropped the index already. */
async function dropIndex(collection: Collection, name: string): Promise<void> {
  try {
    await collection.dropIndex(name);
  } catch (error) {
    if ((error as { codeName?: unknown }).codeName !== 'IndexNotFound') throw error;
  }
}

/** Undefined if the collection does not exist: MongoDB creates it with the first document. */
async function listIndexes(collection: Collection): Promise<Document[] | undefined> {
  try {
    return await collection.listIndexes().toArray();
  } catch (error) {
    if ((error as { codeName?: unknown }).codeName === 'NamespaceNotFound') return undefined;
    throw error;
  }
}
