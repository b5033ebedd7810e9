import type { FieldPath } from '../fields/field-path.ts';
import type { RelatedProjection } from '../language/projection.ts';
import type { Question } from './question.ts';

/** The children that are read together with their one record. */
export interface JoinedChildren<Asked extends Question> {
  readonly related: RelatedProjection;
  /** Asks for all records that may be children. */
  readonly question: Asked;
  readonly columns: readonly FieldPath[];
}

/** The row of a record, and the rows of its children in their order. */
export interface RecordWithChildren {
  readonly row: unknown[];
  readonly children: readonly unknown[][];
}
