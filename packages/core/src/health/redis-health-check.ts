import { wrongOption } from '../options.ts';
import { isConnectionLost } from '../stores/redis-connection.ts';
import { HealthCheck, type HealthCheckOptions } from './health-check.ts';

/** A client of ioredis, alone or of a Cluster. */
export interface PingableRedis {
  readonly status: string;
  ping(): Promise<unknown>;
}

/**
 * Asks Redis for a PING. Takes a client of ioredis. Its name is `redis` unless another is given. Throws
 * ImproperlyConfigured for something that is no client, and for a wrong option.
 *
 * @example
 * health.register(new RedisHealthCheck(redis));
 */
export class RedisHealthCheck extends HealthCheck {
  readonly #client: PingableRedis;

  constructor(client: PingableRedis, options: HealthCheckOptions = {}) {
    super({ name: 'redis', ...options });
    if (typeof client?.ping !== 'function') {
      throw wrongOption(new.target.name, 'client', 'a Redis or Cluster of ioredis', client);
    }
    this.#client = client;
  }

  async check(): Promise<boolean> {
    // A lost connection queues commands until it is back: its state says as much, at once.
    return !isConnectionLost(this.#client.status) && (await this.#client.ping()) === 'PONG';
  }
}
