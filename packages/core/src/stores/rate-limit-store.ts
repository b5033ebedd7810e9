import { thenOrCatch } from '../support/awaitable.ts';
import type { HitResult, Store } from './store.ts';

type StoreResult = (error: Error | null, result?: { readonly current: number; readonly ttl: number }) => void;

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

  incr(key: string, output: StoreResult, windowMs: number, max: number): void {
    this.#result(() => this.#store.hit(this.#prefix + key, max, windowMs), output, max);
  }

  read(key: string, output: StoreResult, windowMs: number, max: number): void {
    this.#result(() => this.#store.peek(this.#prefix + key, max, windowMs), output, max);
  }

  /** Returns the store of one route, with separate counters. */
  child(limit: object): RateLimitStore {
    const { routeInfo = {} } = limit as { readonly routeInfo?: { readonly method?: unknown; readonly url?: unknown } };
    return new RateLimitStore(this.#store, `${this.#prefix}${String(routeInfo.method)} ${String(routeInfo.url)}:`);
  }

  #result(ask: () => HitResult | Promise<HitResult>, output: StoreResult, max: number): void {
    void thenOrCatch(
      ask,
      ({ allowed, remaining, resetMs }) => output(null, { current: allowed ? max - remaining : max + 1, ttl: resetMs }),
      (error) => output(error as Error),
    );
  }
}
