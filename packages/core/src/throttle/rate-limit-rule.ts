import type { FastifyRequest } from 'fastify';
import { ImproperlyConfigured } from '../errors/errors.ts';
import {
  BOOLEAN,
  checkOptionNames,
  checkValues,
  describe,
  FUNCTION,
  type OptionRule,
  STORE,
  TEXT,
} from '../errors/options.ts';
import type { Store } from '../stores/store.ts';

/** When a rule is checked: before authentication (`address`), or after it, when the user is known (`user`). */
export type RateLimitPhase = 'address' | 'user';

/** The options of every rule, besides its count and window. */
export interface RateLimitRuleOptions {
  /** True: if the store is down, requests get 503. Default: false, requests pass uncounted and the log has a warning. */
  readonly failClosed?: boolean;
  /** The name of the rule's counters, instead of its position and arguments. Unique among the rules of a list. */
  readonly name?: string;
  /** The store in which this rule counts. Default: the limiter's store. */
  readonly store?: Store;
  /** Returns true for requests that the rule does not count, such as those of an allow list. Default: none. */
  readonly skip?: (request: FastifyRequest) => boolean;
  /**
   * Returns the maximum of a request's client, in place of `count`: a positive whole number. Undefined: `count`. Clients
   * whose maximum changes keep their counter. A rule of the phase `address` does not know the user.
   */
  readonly countFor?: (request: FastifyRequest) => number | undefined;
}

/**
 * Allows at most `count` requests of one client in any span of `windowSeconds` seconds. The `key` of a subclass identifies the client.
 * Override `phase` with `'user'` if the key needs the logged-in user.
 *
 * The constructor throws ImproperlyConfigured for a count or window that is not a positive whole number, and for an option that is not in
 * `optionNames`.
 *
 * @example
 * class TenantRateLimit extends RateLimitRule {
 *   key(request: FastifyRequest) {
 *     const tenant = request.headers['x-tenant'];           // undefined: the rule does not apply
 *     return Array.isArray(tenant) ? tenant[0] : tenant;    // a header may be a string[]
 *   }
 * }
 * new TenantRateLimit(1000, 60);
 */
export abstract class RateLimitRule {
  /** The options that the constructor takes. A subclass with more options extends the list. */
  static readonly optionNames: readonly string[] = ['failClosed', 'name', 'store', 'skip', 'countFor'];

  readonly phase: RateLimitPhase = 'address';
  readonly count: number;
  readonly windowSeconds: number;
  readonly failClosed: boolean;
  readonly name: string | undefined;
  readonly store: Store | undefined;
  /** @internal */
  readonly skips: RateLimitRuleOptions['skip'];
  /** @internal */
  readonly countsFor: RateLimitRuleOptions['countFor'];

  constructor(count: number, windowSeconds: number, options: RateLimitRuleOptions = {}) {
    const owner = new.target.name;
    checkOptionNames(owner, options, new.target.optionNames);
    this.count = positiveInteger(owner, 'count (its first argument)', count);
    this.windowSeconds = positiveInteger(owner, 'windowSeconds (its second argument)', windowSeconds);
    checkValues(owner, options, { failClosed: BOOLEAN, name: TEXT, store: STORE, skip: FUNCTION, countFor: FUNCTION });
    this.failClosed = options.failClosed ?? false;
    this.name = options.name;
    this.store = options.store;
    this.skips = options.skip;
    this.countsFor = options.countFor;
  }

  /**
   * Returns the key of the client to count: requests with equal keys share a counter. Return undefined to skip the
   * request. A long key is stored as its hash.
   */
  abstract key(request: FastifyRequest): string | undefined;

  /** The rule in one line, for the log and the keys of its counters. It is the same in every process. */
  get label(): string {
    return `${this.constructor.name}(${this.count}, ${this.windowSeconds})`;
  }
}

/** An instance of a rule. If you pass a class, the compiler's message contains "a class without new". */
export type RateLimitRuleInstance = RateLimitRule | (RateLimitRule & { readonly 'a class without new': never });

const LARGEST = 2 ** 31 - 1;

/** @throws ImproperlyConfigured for a value that is no positive whole number */
export function positiveInteger(owner: string, name: string, value: unknown): number {
  if (Number.isInteger(value) && (value as number) > 0 && (value as number) <= LARGEST) return value as number;
  throw new ImproperlyConfigured(
    `${owner}: ${name} must be a positive whole number up to ${LARGEST}, got ${describe(value)}`,
  );
}

export const RATE_LIMIT_RULES: OptionRule = [
  'a list of rules such as new IPRateLimit(100, 60)',
  Array.isArray,
  ['a rule such as new IPRateLimit(100, 60)', (rule) => rule instanceof RateLimitRule],
];
