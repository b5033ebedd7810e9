import { thenOrCatch } from '../support/awaitable.ts';
import type { HitResult, Store } from './store.ts';

type Answer = (error: Error | null, result?: { readonly current: number; readonly ttl: number }) => void;

/**
 * Makes a `store` for `@fastify/rate-limit` from a `Store`. Its limits are then exact in any span of the window.
 * Without it they are up to twice as high around the edge of a window. With a RedisStore they hold across processes.
 *
 * @example
 * await app.register(rateLimit, { max: 100, timeWindow: 60_000, store: rateLimitStore(new RedisStore(redis)) });
 */
export function rateLimitStore(store: Store): new () => RateLimitStore {
  return class extends RateLimitStore {
    constructor() {
      super(store, 'rate-limit:');
    }
  };
}

class RateLimitStore {
  readonly #store: Store;
  readonly #prefix: string;

  constructor(store: Store, prefix: string) {
    this.#store = store;
    this.#prefix = prefix;
  }

  incr(key: string, answer: Answer, windowMs: number, max: number): void {
    this.#answer(() => this.#store.hit(this.#prefix + key, max, windowMs), answer, max);
  }

  read(key: string, answer: Answer, windowMs: number, max: number): void {
    this.#answer(() => this.#store.peek(this.#prefix + key, max, windowMs), answer, max);
  }

  /** Returns the store of one route, with separate counters. */
  child(limit: object): RateLimitStore {
    const { routeInfo = {} } = limit as { readonly routeInfo?: { readonly method?: unknown; readonly url?: unknown } };
    return new RateLimitStore(this.#store, `${this.#prefix}${String(routeInfo.method)} ${String(routeInfo.url)}:`);
  }

  #answer(ask: () => HitResult | Promise<HitResult>, answer: Answer, max: number): void {
    void thenOrCatch(
      ask,
      ({ allowed, remaining, resetMs }) => answer(null, { current: allowed ? max - remaining : max + 1, ttl: resetMs }),
      (error) => answer(error as Error),
    );
  }
}
