import type { EntityMetadata } from '@mikro-orm/core';
import type { FieldPath } from '../../fields/field-path.ts';
import type { Condition } from '../../query/language/condition.ts';

/** How a feature deletes the records of a view by a mark, so that they stay in the database. */
export interface DeletionMark {
  /** The column of the mark. NULL: the record is not deleted. */
  readonly column: FieldPath;
  /** The values that mark a record as deleted. */
  values(): object;
  /**
   * Selects the records of an entity without the mark. The entity is the view's, or another one in the same table.
   */
  withoutMark(meta: EntityMetadata): Condition;
}
