import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import { inspect } from 'node:util';
import { type Question, readError } from '@viewset/core/backend';
import { MONGO_ERRORS } from './database-errors.ts';
import { collectionOf, commandOptions, loggedCommand } from '../mikro/collection.ts';
import type { Document } from '../mikro/mongo-driver.ts';

/** Runs a command on an entity's collection. MikroORM converts the driver's errors. */
export async function runCommand<Result>(
  em: EntityManager,
  meta: EntityMetadata,
  name: string,
  parts: readonly unknown[],
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await loggedCommand(em, () => `${meta.collection}.${name}(${parts.map(inText).join(', ')})`, run);
  } catch (error) {
    throw readError(MONGO_ERRORS, em.getPlatform(), error);
  }
}

/** Runs a pipeline on an entity's collection. */
export function runPipeline(
  { em, purpose }: Pick<Question, 'em' | 'purpose'>,
  meta: EntityMetadata,
  pipeline: readonly Document[],
  options: Document,
): Promise<Document[]> {
  const collection = collectionOf(em, meta, purpose);
  return runCommand(em, meta, 'aggregate', [pipeline], () =>
    collection.aggregate(pipeline, { ...commandOptions(em), ...options }).toArray(),
  );
}

function inText(part: unknown): string {
  return inspect(part, { depth: null, breakLength: Infinity });
}
