import type { MikroORM } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { OptionRule } from '../../errors/options.ts';

/** The ways in which a route handles `Idempotency-Key`: requires, accepts or ignores it. */
export const IDEMPOTENCY_MODES = ['required', 'optional', 'off'] as const;

/** How a route handles `Idempotency-Key`: it requires, accepts or ignores the header. */
export type IdempotencyMode = (typeof IDEMPOTENCY_MODES)[number];

export const IDEMPOTENCY_RULE: OptionRule = [
  `one of ${IDEMPOTENCY_MODES.join(', ')}`,
  (value) => (IDEMPOTENCY_MODES as readonly unknown[]).includes(value),
];

/** A response as it is sent. */
export interface SentAnswer {
  readonly status: number;
  /** The headers that the handler set, by lower-case name, without `Set-Cookie`. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** Null: no body. */
  readonly body: string | Buffer | null;
}

/** A request with a key. */
export interface KeyedRequest {
  readonly request: FastifyRequest;
  readonly key: string;
  /** The path parameters, query string and body as one text. Equal requests have equal texts. */
  readonly content: string;
}

/**
 * Stores the responses of writes by `Idempotency-Key`. It is the plugin's option `idempotency`; `@viewset/idempotency`
 * implements it.
 */
export interface Idempotency {
  /** The mode of routes whose view and action set none. */
  readonly mode: IdempotencyMode;
  /** @throws ImproperlyConfigured for an ORM that it cannot use */
  check(orm: MikroORM): void;
  /**
   * Reads the key of a request. Undefined if the request has none.
   *
   * @throws InvalidUsage for a malformed key, and for a missing key if `isRequired` is true
   */
  keyOf(request: FastifyRequest, isRequired: boolean): string | undefined;
  /**
   * Responds to a request with a key: runs it, or returns its stored response. `run` may be called again after it has
   * failed.
   */
  answer(keyed: KeyedRequest, run: () => Promise<SentAnswer>): Promise<SentAnswer>;
}
