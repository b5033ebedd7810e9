import type { EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { ImproperlyConfigured } from '../../errors.ts';
import { isListOf, type OptionRule } from '../../options.ts';
import type { LiveOption } from '../../live/live-list.ts';
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
  /** The record before an update or a deletion, in the same shape; undefined of a new one, and of an update of a view without `history`. */
  readonly recordBefore: object | undefined;
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
export type WriteListeners = Map<ListeningOption, WriteListener>;

/** The options of a view that ask for a listener. */
export type ListeningOption = 'emits' | 'live';

/** A listener, and the option by which a view asks for it. */
export interface AskedListener {
  readonly option: 'emits' | 'history' | 'live';
  readonly listener: WriteListener;
}

/** Those that a view tells of its writes. */
export type ListenersByOperation = Readonly<Record<WriteOperation, readonly AskedListener[]>>;

interface TellingView {
  readonly name: string;
  readonly operations: readonly Operation[];
  readonly customized: Customized;
  /** The history of the view's records; undefined if it has none. */
  readonly history: { readonly listener: WriteListener } | undefined;
}

/** The options of a view that say of which writes it tells. */
interface TellingOptions {
  readonly emits?: readonly WriteKind[];
  readonly live?: LiveOption;
}

/** Returns the listeners of a view. Throws ImproperlyConfigured for kinds of which it cannot tell, or if nobody would be told. */
export function listenersOf(
  view: TellingView,
  { emits = [], live = false }: TellingOptions,
  listeners: WriteListeners,
): ListenersByOperation {
  const { name, operations, history } = view;
  const emitted = neededListener(`${name}: option "emits"`, emits.length > 0, listeners.get('emits'), EVENTS);
  const following = neededListener(`${name}: option "live"`, live !== false, listeners.get('live'), LISTS);
  return byName(WRITES, (operation) => {
    const asked: AskedListener[] = [];
    const isOffered = operations.includes(operation);
    if (emitted !== undefined && emits.includes(KIND_OF[operation])) {
      const owner = `${name}: option "emits" has "${KIND_OF[operation]}"`;
      if (!isOffered) throw new ImproperlyConfigured(`${owner}, but the view has no operation "${operation}"`);
      checkTells(view, owner, operation);
      asked.push({ option: 'emits', listener: emitted });
    }
    if (history !== undefined) {
      if (isOffered) checkTells(view, `${name}: the view has "history"`, operation);
      // A record that is restored is updated, whatever operations there are.
      asked.push({ option: 'history', listener: history.listener });
    }
    if (following !== undefined) {
      if (isOffered) checkTells(view, `${name}: the view has "live"`, operation);
      asked.push({ option: 'live', listener: following });
    }
    return asked;
  });
}

const EVENTS = 'takes the events; register one between viewset and the router, such as outbox of @viewset/outbox';
const LISTS = 'sends live lists; register one between viewset and the router, such as live of @viewset/live';

function neededListener(
  owner: string,
  isNeeded: boolean,
  listener: WriteListener | undefined,
  which: string,
): WriteListener | undefined {
  if (!isNeeded) return undefined;
  if (listener === undefined) throw new ImproperlyConfigured(`${owner} needs a plugin that ${which}`);
  return listener;
}

/** @throws ImproperlyConfigured for an override by which a write would pass the listeners */
function checkTells({ customized }: TellingView, owner: string, operation: WriteOperation): void {
  const bypassing = customized.reaches(operation)
    ? customized.reachesSeveral(operation) || `${operation}Many`
    : operation;
  if (bypassing === true) return;
  throw new ImproperlyConfigured(
    `${owner}, but ${bypassing} does not call super.${bypassing}(), so nothing would tell of it`,
  );
}
