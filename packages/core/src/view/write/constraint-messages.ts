import type { EntityMetadata } from '@mikro-orm/core';
import type { Violation } from '../../backends/database-errors.ts';

/** The message of a constraint of the database, and the field of the body that it is about. */
export interface ConstraintMessage {
  /** What clients read, as the whole error and beside the field: `The room is taken at this time`. */
  readonly message: string;
  /** The JSON pointer to the field in the body of a record: `/from`. Default: the fields of the constraint, if known. */
  readonly path?: string;
}

/** Finds the message of a violated constraint. */
export interface ConstraintMessages {
  /** The names that have a message. */
  readonly names: readonly string[];
  /** The names of the constraints that the entities declare. Migrations may add others. */
  readonly declaredNames: readonly string[];
  /**
   * @param metas the entities whose constraint it may be
   * @param columns a text with the names of its columns
   */
  of(violation: Violation, metas: ReadonlySet<EntityMetadata>, columns: string): ConstraintMessage | undefined;
}
