import type { MikroORM } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { OptionRule } from '../../options.ts';

/** The ways in which a route takes `Idempotency-Key`: it needs one, takes one, or ignores it. */
export const IDEMPOTENCY_MODES = ['required', 'optional', 'off'] as const;

/** How a route takes `Idempotency-Key`: it needs one, takes one, or ignores it. */
export type IdempotencyMode = (typeof IDEMPOTENCY_MODES)[number];

export const IDEMPOTENCY_RULE: OptionRule = [
  `one of ${IDEMPOTENCY_MODES.join(', ')}`,
  (value) => (IDEMPOTENCY_MODES as readonly unknown[]).includes(value),
];

/** An answer as it is sent. */
export interface SentAnswer {
  readonly status: number;
  /** The headers that the handler has set, by name in lower case, without `Set-Cookie`. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** Null: no body. */
  readonly body: string | Buffer | null;
}

/** A request that has a key. */
export interface KeyedRequest {
  readonly request: FastifyRequest;
  readonly key: string;
  /** The parameters of its path, its query string and its body in one text, which is equal for equal requests. */
  readonly content: string;
}

/** Stores the answers of writes by `Idempotency-Key`: the plugin's option `idempotency`, of which `@viewset/idempotency` has one. */
export interface Idempotency {
  /** How routes take a key whose views and actions do not say. */
  readonly mode: IdempotencyMode;
  /** @throws ImproperlyConfigured for an ORM that it cannot work with */
  check(orm: MikroORM): void;
  /**
   * Reads the key of a request; undefined if it has none.
   *
   * @throws InvalidUsage for a malformed key, and for a missing one if the route needs it
   */
  keyOf(request: FastifyRequest, isRequired: boolean): string | undefined;
  /** Answers a request that has a key: runs it, or returns the answer that it had before. `run` may be called anew after it has failed. */
  answer(keyed: KeyedRequest, run: () => Promise<SentAnswer>): Promise<SentAnswer>;
}
