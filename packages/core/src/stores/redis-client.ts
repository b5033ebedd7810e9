/**
 * What is needed of a Redis client: a `Redis` or a `Cluster` of ioredis, handed in by the application, which also
 * closes it.
 */
export interface RedisClient {
  /** The state of the connection; `ready` when commands can be sent. */
  readonly status: string;
  /** Sends one command, routed by its keys. */
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
}
