import type { FieldPath } from '../fields/field-path.ts';
import type { RelatedProjection } from '../query/language/projection.ts';
import type { Question } from './question.ts';

/** The children to read in one statement with their record. */
export interface JoinedChildren<ItsQuestion extends Question> {
  readonly related: RelatedProjection;
  /** The question for all possible children. */
  readonly question: ItsQuestion;
  readonly columns: readonly FieldPath[];
}

/** The row of a record, and the rows of its children, in order. */
export interface RecordWithChildren {
  readonly row: unknown[];
  readonly children: readonly unknown[][];
}
