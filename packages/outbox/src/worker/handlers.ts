import type { EntityManager } from '@mikro-orm/core';
import { wrongOption } from '@viewset/core';

/** An event as handlers get it. */
export interface HandledEvent {
  /** The same for each attempt to deliver the event: use it to notice one that comes twice. */
  readonly id: string;
  /** Such as `product.created`. */
  readonly type: string;
  /** The record that the event is about, such as `Product/7`; null if none is named. */
  readonly subject: string | null;
  readonly payload: unknown;
  readonly created_at: Date;
  /** 1 for the first attempt. */
  readonly attempt: number;
}

/** What a handler may use. */
export interface HandlerContext {
  /** An entity manager of its own, outside of any transaction. */
  readonly em: EntityManager;
  /** Aborts if the worker has lost its lease, or was stopped and waited long enough: another worker may have the event then. */
  readonly signal: AbortSignal;
}

/** Takes an event. If it throws, the event is delivered again later. */
export type EventHandler = (event: HandledEvent, context: HandlerContext) => unknown;

/** Handlers by the types of their events: `product.created`, `product.*`, or `*` for all. */
export type EventHandlers = Readonly<Record<string, EventHandler>>;

/** Stands before the types of events that are the package's own, which no `*` means. */
export const INTERNAL = '~';
const PATTERN = /^(\*|\w+(\.\w+)*(\.\*)?)$/;

/** Lists handlers with their patterns. Refuses what is no handler, or stands under a name that no type can have. */
export function handlerList(owner: string, given: unknown): [pattern: string, handler: EventHandler][] {
  const wanted = 'functions by types such as "product.created", "product.*" or "*", or a list of such objects';
  const objects: readonly unknown[] = Array.isArray(given) ? given : [given];
  return objects.flatMap((handlers) => {
    if (typeof handlers !== 'object' || handlers === null) throw wrongOption(owner, 'handlers', wanted, handlers);
    for (const [pattern, handler] of Object.entries<unknown>({ ...handlers })) {
      if (!isPattern(pattern) && !pattern.startsWith(INTERNAL)) throw wrongOption(owner, 'handlers', wanted, pattern);
      if (typeof handler !== 'function') throw wrongOption(owner, `handlers.${pattern}`, 'a function', handler);
    }
    return Object.entries(handlers as EventHandlers);
  });
}

/** Tells if a text is a type, or ends with `*` in the place of a part of one. */
export function isPattern(text: string): boolean {
  return PATTERN.test(text);
}

/** Tells if a pattern is that of a type: the same, `*`, or its beginning before `.*`. */
export function matches(pattern: string, type: string): boolean {
  if (pattern === type) return true;
  if (type.startsWith(INTERNAL)) return false;
  return pattern === '*' || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1)));
}
