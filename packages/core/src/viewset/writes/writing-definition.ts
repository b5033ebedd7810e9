import type { EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { TagOf } from '../../entity-tag.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import type { Answers } from '../answers/answers.ts';
import type { Envelope } from '../answers/envelope.ts';
import type { Bulk } from './bulk.ts';
import type { ViewOverrides } from '../request/view-overrides.ts';
import type { InputResolution } from './input-resolution.ts';
import type { Nesting } from '../visible/nesting.ts';
import type { ReservedKeys } from '../visible/reserved-keys.ts';
import type { RecordKey } from '../visible/record-key.ts';
import type { SoftDelete } from '../visible/soft-delete.ts';
import type { ViewInput } from './view-input.ts';
import type { ListenersByOperation } from './write-listener.ts';
import type { WritePlan } from './write-plan.ts';
import type { WriteRecorder } from './write-recorder.ts';

/** The preconditions of a view's built-in operations on one record. */
export interface Preconditions {
  /** True if a write needs `If-Match`. */
  readonly isRequired: boolean;
  /** Makes the `ETag` of a record from its text. */
  readonly tagOf: TagOf;
}

/** The declarations of a view that its writes use. */
export interface WritingDefinition {
  readonly meta: EntityMetadata;
  readonly pk: FieldPath;
  readonly key: RecordKey;
  readonly reservedKeys: ReservedKeys;
  /** The relation to the parent of a nested view. */
  readonly nesting: Nesting | undefined;
  /** The soft deletion of records; undefined without the option `softDelete`. */
  readonly softDelete: SoftDelete | undefined;
  readonly overrides: ViewOverrides;
  readonly answers: Answers;
  readonly envelope: Envelope;
  /** Undefined if the view is read-only. */
  readonly input: ViewInput | undefined;
  readonly resolution: InputResolution;
  /** Undefined if the view has no bulk requests. */
  readonly bulk: Bulk | undefined;
  /** Undefined if the view sends no `ETag`. */
  readonly preconditions: Preconditions | undefined;
  readonly writes: WritePlan;
  /** The features of the view, which may record its writes. */
  readonly features: {
    readonly recorder: { of(request: FastifyRequest): WriteRecorder } | undefined;
    /** The listeners that get the written records. */
    readonly listeners: ListenersByOperation;
  };
}
