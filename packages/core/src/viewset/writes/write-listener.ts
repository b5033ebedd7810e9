import type { EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { ImproperlyConfigured } from '../../errors.ts';
import type { OptionRule } from '../../options.ts';
import type { ViewOverrides } from '../request/view-overrides.ts';
import {
  byName,
  OPERATION,
  type Operation,
  type WriteKind,
  type WriteOperation,
  WRITES,
} from '../request/operation.ts';

const KINDS = WRITES.map((operation) => OPERATION[operation].write.kind);

export const WRITE_KINDS: OptionRule = [
  `a list of ${KINDS.join(', ')}`,
  Array.isArray,
  ['created, updated or deleted', (item) => KINDS.includes(item as WriteKind)],
];

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
 * A plugin passes its listener to `app.viewset.provide`, before the routers are registered. Only views with the option
 * of that name call it.
 *
 * @example
 * const noted: WriteListener = async (writes) => {
 *   for (const { kind, meta, key, request } of writes) request.log.info({ kind, entity: meta.className, key });
 * };
 * app.viewset.provide('emits', noted);
 */
export type WriteListener = (writes: readonly RecordWrite[]) => Promise<void>;

/** A listener, and the view option that enables it. */
export interface OptionListener {
  readonly option: 'emits' | 'live';
  readonly listener: WriteListener;
}

/** The listeners of a view, by operation. */
export type ListenersByOperation = Readonly<Record<WriteOperation, readonly OptionListener[]>>;

interface ListenedView {
  readonly name: string;
  readonly operations: readonly Operation[];
  readonly overrides: ViewOverrides;
}

/** The available listeners; undefined if the view does not enable one. */
interface Listeners {
  /** Gets only writes of these kinds. */
  readonly emits: { readonly kinds: readonly WriteKind[]; readonly listener: WriteListener } | undefined;
  /** True if the writes are kept as a history. */
  readonly hasHistory: boolean;
  readonly live: WriteListener | undefined;
}

/** Returns the listeners of a view. Throws ImproperlyConfigured if the view cannot report all of its writes to them. */
export function listenersOf(view: ListenedView, { emits, hasHistory, live }: Listeners): ListenersByOperation {
  const { name, operations } = view;
  return byName(WRITES, (operation) => {
    const requested: OptionListener[] = [];
    const isOffered = operations.includes(operation);
    const { kind } = OPERATION[operation].write;
    if (emits?.kinds.includes(kind) === true) {
      const owner = `${name}: option "emits" has "${kind}"`;
      if (!isOffered) throw new ImproperlyConfigured(`${owner}, but the view has no operation "${operation}"`);
      checkNotifies(view, owner, operation);
      requested.push({ option: 'emits', listener: emits.listener });
    }
    // A restored record counts as an update, even in a view without the operation.
    if (isOffered && hasHistory) checkNotifies(view, `${name}: the view has "history"`, operation);
    if (isOffered && live !== undefined) checkNotifies(view, `${name}: the view has "live"`, operation);
    if (live !== undefined) requested.push({ option: 'live', listener: live });
    return requested;
  });
}

/** @throws ImproperlyConfigured for an override whose writes would not reach the listeners */
function checkNotifies({ overrides }: ListenedView, owner: string, operation: WriteOperation): void {
  const bypassing = overrides.reaches(operation)
    ? overrides.reachesSeveral(operation) || `${operation}Many`
    : operation;
  if (bypassing === true) return;
  throw new ImproperlyConfigured(
    `${owner}, but ${bypassing} does not call super.${bypassing}(), so its writes would be missed`,
  );
}
