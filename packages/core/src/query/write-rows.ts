import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import type { Awaitable } from '../awaitable.ts';
import type { Inserted } from '../backends/backend.ts';
import type { Condition } from '../language/condition.ts';
import type { Projection } from '../language/projection.ts';
import { backendOf } from './backend-of.ts';

/**
 * Writes rows without entities, each as one statement that answers with the record as it was stored. Whether that means
 * the same as the unit of work, a `WritePlan` decides.
 *
 * `check` is called right before a statement runs, which may have waited for its connection; nothing is written if it
 * throws.
 */
export interface RowWriter<Record> {
  insert(em: EntityManager, data: object, check: () => void): Awaitable<Inserted<Record>>;
  /** Answers with undefined if the condition is true of no record. */
  update(em: EntityManager, condition: Condition, data: object, check: () => void): Awaitable<Record | undefined>;
  /** Answers with false if the condition is true of no record. */
  remove(em: EntityManager, condition: Condition, check: () => void): Awaitable<boolean>;
}

export function rowWriter<Record>(meta: EntityMetadata, projection: Projection<Record>): RowWriter<Record> {
  return {
    insert: (em, data, check) => backendOf(em).insert({ em, meta, projection, data, check }),
    update: (em, condition, data, check) => backendOf(em).update({ em, meta, projection, data, condition, check }),
    remove: (em, condition, check) => backendOf(em).remove({ em, meta, condition, check }),
  };
}
