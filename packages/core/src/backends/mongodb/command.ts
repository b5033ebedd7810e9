import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import { inspect } from 'node:util';
import { loggedCommand } from '../../mikro/mongo-collection.ts';
import { readError } from '../database-errors.ts';

/** Runs a command on the collection of an entity. Its error is the one that MikroORM makes of that of the driver. */
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
    throw readError(em.getPlatform(), error);
  }
}

function inText(part: unknown): string {
  return inspect(part, { depth: null, breakLength: Infinity });
}
