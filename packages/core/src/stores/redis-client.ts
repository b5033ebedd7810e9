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

/** What a client says of a connection that is gone: a command would wait in line until it is back. */
const LOST: ReadonlySet<string> = new Set(['close', 'reconnecting', 'disconnecting', 'end']);

export function isConnectionLost(status: string): boolean {
  return LOST.has(status);
}
