import type { EntityManager } from '@mikro-orm/core';
import { wrongOption } from '@viewset/core';

/** An event as handlers get it. */
export interface HandledEvent {
  /** The same for every attempt: use it to detect events that arrive twice. */
  readonly id: string;
  /** A name such as `product.created`. */
  readonly type: string;
  /** The record that the event is about, such as `Product/7`; null if none was given. */
  readonly subject: string | null;
  readonly payload: unknown;
  readonly created_at: Date;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** The tenant of `tenant()` that the record belongs to. Null without one, and for work for all tenants. */
  readonly tenant: string | number | null;
}

/** What a handler can use. */
export interface HandlerContext {
  /**
   * A fresh entity manager, outside any transaction. With `tenant()` it works for the tenant of the event. Flush it before the handler ends: a change that is not stored fails
   * the attempt.
   */
  readonly em: EntityManager;
  /**
   * Aborts if the worker lost its lease, or if `stop()` has waited long enough. Another worker may then have the event.
   */
  readonly signal: AbortSignal;
}

/** Handles an event. If it throws, the event is delivered again later. */
export type EventHandler = (event: HandledEvent, context: HandlerContext) => unknown;

/** Handlers by the types of their events: `product.created`, `product.*`, or `*` for all. */
export type EventHandlers = Readonly<Record<string, EventHandler>>;

/** The prefix of internal event types. `*` does not match them. */
export const INTERNAL = '~';
const PATTERN = /^(\*|\w+(\.\w+)*(\.\*)?)$/;

/** Lists handlers with their patterns. Rejects values that are not functions, and patterns that no event can match. */
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

/** True for an event type, and for a pattern that ends with `*`. */
export function isPattern(text: string): boolean {
  return PATTERN.test(text);
}

/** True if a pattern matches a type: it is the same text, `*`, or its beginning before `.*`. */
export function matches(pattern: string, type: string): boolean {
  if (pattern === type) return true;
  if (type.startsWith(INTERNAL)) return false;
  return pattern === '*' || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1)));
}
