import type { EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { FieldPath } from '../../fields/field-path.ts';
import type { RecordOutputs } from '../output/record-outputs.ts';
import type { ViewOverrides } from '../request/view-overrides.ts';
import type { ConstraintMessages } from './constraint-messages.ts';
import type { InputResolution } from './input-resolution.ts';
import type { Nesting } from '../records/nesting.ts';
import type { ReservedKeys } from '../records/reserved-keys.ts';
import type { RecordKey } from '../records/record-key.ts';
import type { DeletionMark } from '../records/deletion-mark.ts';
import type { ViewInput } from './view-input.ts';
import type { ListenersByOperation } from './write-listener.ts';
import type { WritePlan } from './write-plan.ts';
import type { WriteRecorder } from './write-recorder.ts';

/** The declarations of a view that its writes use. */
export interface WritingDefinition {
  readonly meta: EntityMetadata;
  readonly pk: FieldPath;
  readonly key: RecordKey;
  readonly reservedKeys: ReservedKeys;
  /** The relation to the parent of a nested view. */
  readonly nesting: Nesting | undefined;
  readonly overrides: ViewOverrides;
  readonly outputs: RecordOutputs;
  /** Undefined if the view is read-only. */
  readonly input: ViewInput | undefined;
  readonly resolution: InputResolution;
  readonly writes: WritePlan;
  /** The features of the view, which may record its writes. */
  readonly features: {
    readonly recorder: { of(request: FastifyRequest): WriteRecorder } | undefined;
    /** The listeners that get the written records. */
    readonly listeners: ListenersByOperation;
    /** Undefined if deleted records leave the database. */
    readonly deletion: DeletionMark | undefined;
    /** The messages of constraints; undefined if the view has none. */
    readonly refusals: ConstraintMessages | undefined;
  };
}
