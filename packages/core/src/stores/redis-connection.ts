import { StoreUnavailable } from './store.ts';

/**
 * The part of a Redis client that is needed: a `Redis` or a `Cluster` of ioredis, handed in by the application, which also
 * closes it.
 */
export interface RedisClient {
  /** The state of the connection; `ready` when commands can be sent. */
  readonly status: string;
  /** Sends one command, routed by its keys. */
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
}

/** The states of a connection that is gone: a command would wait in line until it is back. */
const LOST: ReadonlySet<string> = new Set(['close', 'reconnecting', 'disconnecting', 'end']);

export function isConnectionLost(status: string): boolean {
  return LOST.has(status);
}

/**
 * Sends commands to Redis so that nobody waits for a server that is gone: an answer comes within `timeoutMs`, or
 * StoreUnavailable does. A connection that was lost fails at once, and one that has fallen silent lets a single
 * command at a time try whether it answers again. Reconnecting is the client's business.
 */
export class RedisConnection {
  readonly #client: RedisClient;
  readonly #timeoutMs: number;
  #wasReady = false;
  /** The client's status when a command went unanswered; undefined while commands are answered. */
  #silentWhile: string | undefined;
  #trying = false;

  constructor(client: RedisClient, timeoutMs: number) {
    this.#client = client;
    this.#timeoutMs = timeoutMs;
  }

  /** Runs one command, or several of which only the last one's answer counts. */
  run<Answer>(task: (client: RedisClient) => Promise<Answer>): Promise<Answer> {
    const refusal = this.#reasonNotToSend();
    if (refusal !== undefined) return Promise.reject(new StoreUnavailable(new Error(refusal)));
    const trial = this.#silentWhile !== undefined;
    if (trial) this.#trying = true;
    return new Promise((resolve, reject) => {
      let answered = false;
      const timer = setTimeout(() => {
        // After a long pause of this process the answer may lie unread in the socket: read once more before giving up.
        setImmediate(() => {
          if (answered) return;
          if (trial) this.#trying = false;
          this.#silentWhile = this.#client.status;
          reject(new StoreUnavailable(new Error(`Redis did not answer within ${this.#timeoutMs} ms`)));
        });
      }, this.#timeoutMs);
      const noteAnswer = (): void => {
        answered = true;
        clearTimeout(timer);
        this.#trying = false;
        this.#silentWhile = undefined;
        this.#wasReady ||= this.#client.status === 'ready';
      };
      task(this.#client)
        .finally(noteAnswer)
        .then(resolve, (error: unknown) => reject(new StoreUnavailable(error)));
    });
  }

  /** Returns the reason why a command should not even be sent, if there is one. */
  #reasonNotToSend(): string | undefined {
    const { status } = this.#client;
    this.#wasReady ||= status === 'ready';
    // A first connection is worth waiting for; one that was there, or could not be made, is not.
    if (isConnectionLost(status) || (this.#wasReady && status !== 'ready')) {
      return `The connection to Redis is lost (${status})`;
    }
    if (this.#silentWhile !== status) this.#silentWhile = undefined;
    return this.#silentWhile !== undefined && this.#trying ? 'Redis does not answer' : undefined;
  }
}
