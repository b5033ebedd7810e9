import type { EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { ImproperlyConfigured } from '../../errors.ts';
import { isListOf, type OptionRule } from '../../options.ts';
import type { Customized } from '../request/customized.ts';
import { byName, type Operation, type WriteOperation, WRITES } from '../request/operation.ts';

/** The kinds of writes, by the operations that do them. */
export const KIND_OF = { create: 'created', update: 'updated', destroy: 'deleted' } as const;

/** What a view did with a record. */
export type WriteKind = (typeof KIND_OF)[WriteOperation];

export const WRITE_KINDS: OptionRule = [
  'a list of created, updated, deleted',
  (value) => isListOf(value, (item) => Object.values(KIND_OF).includes(item as WriteKind)),
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
  /** The values of the entity before the write, as MikroORM read them; undefined of a new record. */
  readonly before: Readonly<Record<string, unknown>> | undefined;
  /**
   * The record as the database has stored it, or had stored it before it was deleted. It has the shape that `retrieve` has by itself, whatever
   * `readShapeFor`, `expand` and `fields` say of the request.
   */
  readonly record: object;
}

/**
 * Is told of the records that a request has written, within the transaction and before its commit. What it writes by `request.em` is committed or
 * rolled back with them. What it throws rolls the write back.
 *
 * A plugin sets its listener in `app.viewset.writeListeners`, before the routers are registered. Only views with the option of that name tell it.
 *
 * @example
 * const noted: WriteListener = async (writes) => {
 *   for (const { kind, meta, key, request } of writes) request.log.info({ kind, entity: meta.className, key });
 * };
 * app.viewset.writeListeners.set('emits', noted);
 */
export type WriteListener = (writes: readonly RecordWrite[]) => Promise<void>;

/** The listeners of an application, by the option of a view that asks for them. */
export type WriteListeners = Map<'emits', WriteListener>;

/** Those that a view tells of its writes. */
export type ListenersByOperation = Readonly<Record<WriteOperation, readonly WriteListener[]>>;

interface EmittingView {
  readonly name: string;
  readonly operations: readonly Operation[];
  readonly customized: Customized;
}

/** Returns the listeners of a view. Throws ImproperlyConfigured for kinds of which it cannot tell, or if nobody would be told. */
export function listenersOf(
  { name, operations, customized }: EmittingView,
  emits: readonly WriteKind[] = [],
  listeners: WriteListeners,
): ListenersByOperation {
  const listener = listeners.get('emits');
  const owner = `${name}: option "emits"`;
  if (emits.length > 0 && listener === undefined) {
    throw new ImproperlyConfigured(
      `${owner} needs a plugin that takes the events; register one between viewset and the router, such as outbox of @viewset/outbox`,
    );
  }
  return byName(WRITES, (operation) => {
    const kind = KIND_OF[operation];
    if (listener === undefined || !emits.includes(kind)) return [];
    if (!operations.includes(operation)) {
      throw new ImproperlyConfigured(`${owner} has "${kind}", but the view has no operation "${operation}"`);
    }
    const bypassing = customized.reaches(operation)
      ? customized.reachesSeveral(operation) || `${operation}Many`
      : operation;
    if (bypassing !== true) {
      throw new ImproperlyConfigured(
        `${owner} has "${kind}", but ${bypassing} does not call super.${bypassing}(), so nothing would tell of it`,
      );
    }
    return [listener];
  });
}
