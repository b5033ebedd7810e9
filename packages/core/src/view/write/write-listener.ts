import type { EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import type { ViewOverrides } from '../request/view-overrides.ts';
import type { WriteKind, WriteOperation } from '../request/operation.ts';

/** The write of one record by a view. */
export interface RecordWrite {
  readonly kind: WriteKind;
  /** The request that wrote it. Its `em` is in the transaction of the write. */
  readonly request: FastifyRequest;
  /** The metadata of the record's entity. */
  readonly meta: EntityMetadata;
  /** The value of the record's primary key. */
  readonly key: unknown;
  /** The record as an entity of `request.em`. */
  readonly entity: object;
  /** The values of the entity before the write, as MikroORM read them; undefined for a new record. */
  readonly before: Readonly<Record<string, unknown>> | undefined;
  /**
   * The record as stored in the database after the write, or before a deletion. It has the default shape of `retrieve`,
   * regardless of the request's `readShapeFor`, `expand` and `fields`.
   */
  readonly record: object;
}

/**
 * Gets the records that a request has written, within the transaction and before its commit. Its own writes by
 * `request.em` are committed or rolled back with them. If it throws, the write is rolled back.
 *
 * A plugin passes its listener to `app.viewset.addFeature`, before the routers are registered. Only views with the
 * option of the feature call it.
 *
 * @example
 * const noted: WriteListener = async (writes) => {
 *   for (const { kind, meta, key, request } of writes) request.log.info({ kind, entity: meta.className, key });
 * };
 * app.viewset.addFeature(eventsFeature(noted));
 */
export type WriteListener = (writes: readonly RecordWrite[]) => Promise<void>;

/** A listener, and the view option that enables it. */
export interface OptionListener {
  readonly option: string;
  readonly listener: WriteListener;
}

/** The listeners of a view, by operation. */
export type ListenersByOperation = Readonly<Record<WriteOperation, readonly OptionListener[]>>;

/** A view whose writes listeners get. */
export interface ListenedView {
  readonly overrides: ViewOverrides;
}

/**
 * @param owner the declaration that needs the writes, for the error
 * @throws ImproperlyConfigured for an override whose writes would not reach the listeners
 */
export function checkNotifies({ overrides }: ListenedView, owner: string, operation: WriteOperation): void {
  const bypassing = overrides.reaches(operation)
    ? overrides.reachesSeveral(operation) || `${operation}Many`
    : operation;
  if (bypassing === true) return;
  throw new ImproperlyConfigured(
    `${owner}, but ${bypassing} does not call super.${bypassing}(), so its writes would be missed`,
  );
}
