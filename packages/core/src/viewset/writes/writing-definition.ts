import type { EntityMetadata } from '@mikro-orm/core';
import type { TagOf } from '../../entity-tag.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import type { Answers } from '../answers/answers.ts';
import type { Envelope } from '../answers/envelope.ts';
import type { Bulk } from './bulk.ts';
import type { Customized } from '../request/customized.ts';
import type { InputResolution } from './input-resolution.ts';
import type { Nesting } from '../visible/nesting.ts';
import type { RecordKey } from '../visible/record-key.ts';
import type { SoftDelete } from '../visible/soft-delete.ts';
import type { ViewInput } from './view-input.ts';
import type { ListenersByOperation } from './write-listener.ts';
import type { WritePlan } from './write-plan.ts';

/** The preconditions of a view's own operations on one record. */
export interface Preconditions {
  /** True if a write needs `If-Match`. */
  readonly isRequired: boolean;
  /** Makes the `ETag` of a record, of its text. */
  readonly tagOf: TagOf;
}

/** The declarations of a view that its writes read. */
export interface WritingDefinition {
  readonly meta: EntityMetadata;
  readonly pk: FieldPath;
  readonly key: RecordKey;
  /** The way to the parent of a view that is nested in another one. */
  readonly nesting: Nesting | undefined;
  /** The way to delete records and keep them; undefined if a deleted one is gone. */
  readonly softDelete: SoftDelete | undefined;
  readonly customized: Customized;
  readonly answers: Answers;
  readonly envelope: Envelope;
  /** Undefined if the view takes nothing in. */
  readonly input: ViewInput | undefined;
  readonly resolution: InputResolution;
  /** Undefined if no request may be about several records. */
  readonly bulk: Bulk | undefined;
  /** Undefined if the view sends no `ETag`. */
  readonly preconditions: Preconditions | undefined;
  readonly writes: WritePlan;
  /** Those that are told of the records that are written. */
  readonly listeners: ListenersByOperation;
}
