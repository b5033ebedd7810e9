import type { FastifyRequest } from 'fastify';
import { ImproperlyConfigured } from '../errors.ts';
import { BOOLEAN, checkOptionNames, checkValues, describe, type OptionRule, STORE, TEXT } from '../options.ts';
import type { Store } from '../stores/store.ts';

/** The time at which a rule is asked: before authentication (`address`), or after it, when the user is known (`user`). */
export type RateLimitPhase = 'address' | 'user';

/** The options of every rule, beside its count and window. */
export interface RateLimitRuleOptions {
  /** True: answer 503 if the store is down. Default: false, let requests pass uncounted and say so in the log. */
  readonly failClosed?: boolean;
  /** Names the rule's counters, in place of its position and arguments; unique among the rules of one list. */
  readonly name?: string;
  /** The store in which this rule counts. Default: the limiter's store. */
  readonly store?: Store;
}

/**
 * Lets at most `count` requests of one client pass in any span of `windowSeconds` seconds. A subclass says by its `key`
 * what a client is; override `phase` with `'user'` if that takes the logged-in user.
 *
 * The constructor throws ImproperlyConfigured for a count or window that is not a positive whole number, and for an
 * option that is not in the class's `optionNames`.
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
  /** The options that the constructor takes; a subclass with more of its own extends the list. */
  static readonly optionNames: readonly string[] = ['failClosed', 'name', 'store'];

  readonly phase: RateLimitPhase = 'address';
  readonly count: number;
  readonly windowSeconds: number;
  readonly failClosed: boolean;
  readonly name: string | undefined;
  readonly store: Store | undefined;

  constructor(count: number, windowSeconds: number, options: RateLimitRuleOptions = {}) {
    const owner = new.target.name;
    checkOptionNames(owner, options, new.target.optionNames);
    this.count = positiveInteger(owner, 'count (its first argument)', count);
    this.windowSeconds = positiveInteger(owner, 'windowSeconds (its second argument)', windowSeconds);
    checkValues(owner, options, { failClosed: BOOLEAN, name: TEXT, store: STORE });
    this.failClosed = options.failClosed ?? false;
    this.name = options.name;
    this.store = options.store;
  }

  /**
   * Returns who sent a request, as far as this rule is concerned: requests with equal keys share one counter. Returns
   * undefined if the rule does not apply. A long key is kept as its hash.
   */
  abstract key(request: FastifyRequest): string | undefined;

  /** The rule in one line, for the log and for the keys of its counters: the same in every process. */
  get label(): string {
    return `${this.constructor.name}(${this.count}, ${this.windowSeconds})`;
  }
}

/** A rule that `new` has made. It is a name for the compiler to say where a class stands in its place. */
export type RateLimitRuleInstance = RateLimitRule | (RateLimitRule & { readonly 'a class without new': never });

const LARGEST = 2 ** 31 - 1;

function positiveInteger(owner: string, name: string, value: number): number {
  if (Number.isInteger(value) && value > 0 && value <= LARGEST) return value;
  throw new ImproperlyConfigured(
    `${owner}: ${name} must be a positive whole number up to ${LARGEST}, but ${describe(value)} came`,
  );
}

export const RATE_LIMIT_RULES: OptionRule = [
  'a list of rules such as new IPRateLimit(100, 60)',
  Array.isArray,
  ['a rule such as new IPRateLimit(100, 60)', (rule) => rule instanceof RateLimitRule],
];
