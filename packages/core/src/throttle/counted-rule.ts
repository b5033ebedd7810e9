import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { requireSync, type Awaitable, thenOrCatch } from '../support/awaitable.ts';
import { ImproperlyConfigured, ServiceUnavailable } from '../errors/errors.ts';
import { describe } from '../errors/options.ts';
import type { HitResult, Store } from '../stores/store.ts';
import { positiveInteger, type RateLimitRule } from './rate-limit-rule.ts';

/** The state of a rule's counter for one request. */
export interface RuleState {
  readonly counted: CountedRule;
  readonly key: string;
  /** The maximum of the request's client. */
  readonly limit: number;
  readonly result: HitResult;
}

/** Reports a request that passed uncounted because the store was down. */
export type ReportUncounted = (rule: string, error: unknown) => void;

/** Longer keys are stored as their hash, so that clients cannot choose how much memory a key takes. */
const MAX_KEY_LENGTH = 64;

/** A rule, its store, and a unique name for its counters. */
export class CountedRule {
  readonly rule: RateLimitRule;
  readonly #store: Store;
  readonly #name: string;
  readonly #reportUncounted: ReportUncounted;

  constructor(rule: RateLimitRule, name: string, store: Store, reportUncounted: ReportUncounted) {
    this.rule = rule;
    this.#name = name;
    this.#store = rule.store ?? store;
    this.#reportUncounted = reportUncounted;
  }

  /**
   * Counts a request. Returns undefined if the rule does not apply, or if its store is down and the rule lets requests pass.
   * Throws ServiceUnavailable if the store is down and the rule fails closed.
   */
  hit(request: FastifyRequest): Awaitable<RuleState | undefined> {
    return this.#ask('hit', request, (error) => {
      if (this.rule.failClosed) {
        throw error instanceof ServiceUnavailable ? error : new ServiceUnavailable(undefined, { cause: error });
      }
      this.#reportUncounted(this.rule.label, error);
    });
  }

  /** Returns the state of the rule without counting; undefined if the rule does not apply, or if its store is down. */
  peek(request: FastifyRequest): Awaitable<RuleState | undefined> {
    return this.#ask('peek', request, ignore);
  }

  /** Takes a hit back. If the store is down by now, the hit stays. */
  undo({ key, result }: RuleState): Awaitable<undefined> {
    return thenOrCatch(() => this.#store.undo(key, result.stamp), ignore, ignore);
  }

  #client(request: FastifyRequest): string | undefined {
    const { rule } = this;
    if (rule.skips !== undefined) {
      const skipped: unknown = requireSync(rule.skips(request), () => `${rule.label}: skip()`);
      if (typeof skipped !== 'boolean') {
        throw new ImproperlyConfigured(`${rule.label}: skip() must return true or false, got ${describe(skipped)}`);
      }
      if (skipped) return undefined;
    }
    const client: unknown = requireSync(rule.key(request), () => `${rule.label}: key()`);
    if (client === undefined || typeof client === 'string') return client;
    throw new ImproperlyConfigured(
      `${rule.label}: key() must answer with a text or undefined, got ${describe(client)}`,
    );
  }

  #limit(request: FastifyRequest): number {
    const { rule } = this;
    const given: unknown = rule.countsFor && requireSync(rule.countsFor(request), () => `${rule.label}: countFor()`);
    return given === undefined ? rule.count : positiveInteger(rule.label, 'the result of countFor()', given);
  }

  #ask(
    how: 'hit' | 'peek',
    request: FastifyRequest,
    failed: (error: unknown) => undefined,
  ): Awaitable<RuleState | undefined> {
    const client = this.#client(request);
    if (client === undefined) return undefined;
    const key = this.#name + boundKey(client);
    const limit = this.#limit(request);
    return thenOrCatch(
      () => this.#store[how](key, limit, this.rule.windowSeconds * 1000),
      (result): RuleState | undefined => ({ counted: this, key, limit, result }),
      failed,
    );
  }
}

function ignore(): undefined {}

function boundKey(key: string): string {
  // A key that looks like a hash is hashed too, so that it cannot collide with the hash of another key.
  if (key.length <= MAX_KEY_LENGTH && !key.startsWith('#')) return key;
  return `#${hash('sha256', key, 'base64url')}`;
}
