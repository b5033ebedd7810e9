import { clusterSlot } from './cluster-slot.ts';
import { StoreUnavailable } from './store.ts';

/**
 * The part of a Redis client that is needed: a `Redis` or a `Cluster` of ioredis. The application creates and closes
 * it.
 */
export interface RedisClient {
  /** The state of the connection; `ready` when commands can be sent. */
  readonly status: string;
  /** Sends one command, routed by its keys. */
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
}

/** The part of a Cluster of ioredis that is needed. */
export interface ClusterClient extends RedisClient {
  readonly isCluster: true;
  /** The nodes of each slot, `host:port`; the master is the first. */
  readonly slots: readonly (readonly string[] | undefined)[];
  readonly options: { readonly keyPrefix?: string | undefined };
}

export function isCluster(client: RedisClient): client is ClusterClient {
  return (client as Partial<ClusterClient>).isCluster === true;
}

/** The states of a lost connection: a command would wait until it is back. */
const LOST: ReadonlySet<string> = new Set(['close', 'reconnecting', 'disconnecting', 'end']);

export function isConnectionLost(status: string): boolean {
  return LOST.has(status);
}

/** A server that did not answer a command. */
interface Silence {
  /** The client's status at that time. */
  readonly status: string;
  /** True while one command tests whether it answers again. */
  isTested: boolean;
}

/**
 * Sends commands to Redis with a time limit: within `timeoutMs` there is an answer or StoreUnavailable. If the
 * connection is lost, commands fail at once. If it has fallen silent, one command at a time tests whether it answers
 * again. In a Cluster this applies to each master separately, so that the others go on. The client does the reconnecting.
 */
export class RedisConnection {
  readonly #client: RedisClient;
  readonly #timeoutMs: number;
  #wasReady = false;
  /** By server. A single server has the name ''. */
  readonly #silences = new Map<string, Silence>();

  constructor(client: RedisClient, timeoutMs: number) {
    this.#client = client;
    this.#timeoutMs = timeoutMs;
  }

  /** Runs one command on a key, or several of which only the last result counts. */
  run<Result>(key: string, task: (client: RedisClient) => Promise<Result>): Promise<Result> {
    const server = this.#serverOf(key);
    const refusal = this.#reasonNotToSend(server);
    if (refusal !== undefined) return Promise.reject(new StoreUnavailable(new Error(refusal)));
    const silence = this.#silences.get(server);
    if (silence !== undefined) silence.isTested = true;
    return new Promise((resolve, reject) => {
      let answered = false;
      const timer = setTimeout(() => {
        // After a long pause of this process, the answer may be unread in the socket: read once more before giving up.
        setImmediate(() => {
          if (answered) return;
          if (silence !== undefined) silence.isTested = false;
          if (!this.#silences.has(server)) this.#silences.set(server, { status: this.#client.status, isTested: false });
          reject(new StoreUnavailable(new Error(`Redis did not answer within ${this.#timeoutMs} ms`)));
        });
      }, this.#timeoutMs);
      const noteResponse = (): void => {
        answered = true;
        clearTimeout(timer);
        this.#silences.delete(server);
        this.#wasReady ||= this.#client.status === 'ready';
      };
      task(this.#client)
        .finally(noteResponse)
        .then(resolve, (error: unknown) => reject(new StoreUnavailable(error)));
    });
  }

  #serverOf(key: string): string {
    if (!isCluster(this.#client)) return '';
    const { slots, options } = this.#client;
    return slots[clusterSlot(`${options.keyPrefix ?? ''}${key}`)]?.[0] ?? '';
  }

  /** Returns the reason not to send a command; undefined if it can be sent. */
  #reasonNotToSend(server: string): string | undefined {
    const { status } = this.#client;
    this.#wasReady ||= status === 'ready';
    // Wait for a first connection. Do not wait for a connection that was lost or could not be made.
    if (isConnectionLost(status) || (this.#wasReady && status !== 'ready')) {
      return `The connection to Redis is lost (${status})`;
    }
    const silence = this.#silences.get(server);
    if (silence === undefined) return undefined;
    // It is another connection.
    if (silence.status !== status) this.#silences.delete(server);
    else if (silence.isTested) return 'Redis does not answer';
    return undefined;
  }
}
