import { checkOptions, type OptionRule, wrongOption } from '../errors/options.ts';
import { type RedisClient, RedisConnection } from './redis-connection.ts';
import { HIT, REMOVE_IF_EQUAL, TAKE, type RedisScript } from './redis-scripts.ts';
import type { HitResult, PutOptions, Store, TakeResult } from './store.ts';

/** The options of a Redis store. */
export interface RedisStoreOptions {
  /** The prefix of every key. Default: `viewset:`. */
  readonly prefix?: string;
  /** The time to wait for Redis, in milliseconds. Default: 1000. */
  readonly timeoutMs?: number;
}

const RULES: Readonly<Record<keyof RedisStoreOptions, OptionRule>> = {
  prefix: ['a string', (value) => typeof value === 'string'],
  timeoutMs: ['a number of milliseconds', (value) => (value as number) > 0 && (value as number) < 2 ** 31],
};
/**
 * How much longer than its window a counter is kept, in milliseconds. Rounded expiry then never drops a hit that still
 * counts.
 */
const SLACK_MS = 1000;

/**
 * A store in Redis 6 or newer: a single server, behind Sentinel, or a Cluster. It is exact across all processes that
 * share it. Every operation is one command or script on one key, and uses the server's clock.
 *
 * Every method rejects with StoreUnavailable if Redis is down, rejects the command, or does not answer in time. The
 * constructor throws ImproperlyConfigured without a client, and for an unknown or wrong option.
 *
 * @example
 * import { Redis } from 'ioredis';
 * const store = new RedisStore(new Redis('redis://127.0.0.1:6379'));
 */
export class RedisStore implements Store {
  readonly #connection: RedisConnection;
  readonly #prefix: string;

  constructor(client: RedisClient, options: RedisStoreOptions = {}) {
    checkOptions('RedisStore', options, RULES);
    if (typeof client?.call !== 'function') {
      throw wrongOption('RedisStore', 'client', 'a Redis or Cluster of ioredis', client);
    }
    const { prefix = 'viewset:', timeoutMs = 1000 } = options;
    this.#connection = new RedisConnection(client, timeoutMs);
    this.#prefix = prefix;
  }

  hit(key: string, limit: number, windowMs: number): Promise<HitResult> {
    return this.#count(key, limit, windowMs, true);
  }

  peek(key: string, limit: number, windowMs: number): Promise<HitResult> {
    return this.#count(key, limit, windowMs, false);
  }

  async undo(key: string, stamp: number): Promise<void> {
    const counter = this.#counter(key);
    await this.#connection.run(counter, (client) => client.call('lrem', counter, -1, stamp));
  }

  async put(key: string, value: string, ttlMs: number, options: PutOptions = {}): Promise<boolean> {
    const stored = this.#value(key);
    const entry = [stored, `${options.tries ?? 0}:${value}`, 'PX', Math.max(1, Math.ceil(ttlMs))] as const;
    const condition = options.onlyIfAbsent === true ? ['NX'] : [];
    return (await this.#connection.run(stored, (client) => client.call('set', ...entry, ...condition))) !== null;
  }

  async read(key: string): Promise<string | undefined> {
    const value = this.#value(key);
    const stored = await this.#connection.run(value, (client) => client.call('get', value));
    // A value is stored after the number of its wrong tries and a colon.
    return typeof stored === 'string' ? stored.slice(stored.indexOf(':') + 1) : undefined;
  }

  async take(key: string, value: string, maxTries: number): Promise<TakeResult> {
    const result = await this.#runScript(TAKE, this.#value(key), value, maxTries);
    const [outcome, ttlMs, tries] = result as [TakeResult['outcome'], number?, number?];
    return outcome === 'matched' ? { outcome, ttlMs: Number(ttlMs), tries: Number(tries) } : { outcome };
  }

  async remove(key: string, value?: string): Promise<boolean> {
    const stored = this.#value(key);
    const removed =
      value === undefined
        ? await this.#connection.run(stored, (client) => client.call('del', stored))
        : await this.#runScript(REMOVE_IF_EQUAL, stored, value);
    return Number(removed) === 1;
  }

  async #count(key: string, limit: number, windowMs: number, record: boolean): Promise<HitResult> {
    const windowUs = Math.ceil(windowMs * 1000);
    const ttlMs = Math.ceil(windowMs) + SLACK_MS;
    const result = await this.#runScript(HIT, this.#counter(key), limit, windowUs, ttlMs, record ? 1 : 0);
    const [allowed, remaining, resetUs, stamp] = (result as unknown[]).map(Number) as [number, number, number, number];
    const resetMs = resetUs / 1000;
    return { allowed: allowed === 1, remaining, retryAfterMs: allowed === 1 ? 0 : resetMs, resetMs, stamp };
  }

  #runScript(script: RedisScript, key: string, ...args: (string | number)[]): Promise<unknown> {
    return this.#connection.run(key, async (client) => {
      try {
        return await client.call('evalsha', script.sha1, 1, key, ...args);
      } catch (error) {
        // The server does not know the script (yet, or after a restart, failover or SCRIPT FLUSH): EVAL loads it.
        if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
        return client.call('eval', script.source, 1, key, ...args);
      }
    });
  }

  #counter(key: string): string {
    return `${this.#prefix}hits:${key}`;
  }

  #value(key: string): string {
    return `${this.#prefix}value:${key}`;
  }
}
