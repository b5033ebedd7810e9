import {
  clientNetwork,
  getCurrentUser,
  type LiveList,
  type LivePage,
  ServiceUnavailable,
  toHttpError,
  TooManyRequests,
} from '@viewset/core';
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChangeLog, Versions } from './change-log.ts';
import { Connection } from './connection.ts';
import type { ResolvedLiveOptions } from './live-options.ts';
import { inTime, MAX_READ_MS, ReadSlots, settledOrLate, SharedReads, notifyAll } from './round.ts';

/** How often notes are removed while there are no connections, so that they do not accumulate, in milliseconds. */
const IDLE_MS = 10_000;
const RETRY_AFTER_SECONDS = 5;
/** The wait after a failed look, in milliseconds. */
const RETRY_MS = 200;

/** Connections that are opened together. Equal questions share one answer. */
interface Opening {
  readonly begun: Promise<void>;
  readonly pending: Promise<unknown>[];
  readonly reads: SharedReads;
}

/** The connections of one process, and the loop that looks for changes and sends them. */
export class LiveLists {
  readonly #log: ChangeLog;
  readonly #options: ResolvedLiveOptions;
  readonly #appLog: FastifyBaseLogger;
  readonly #connections = new Set<Connection>();
  readonly #perSender = new Map<string, number>();
  readonly #slots: ReadSlots;
  readonly #stop = new AbortController();
  /** The latest versions that connections know; undefined without connections. */
  #versions: Versions | undefined;
  #wake: () => void = () => {};
  #isWoken = false;
  /** True if the last look failed. */
  #isFailing = false;
  /** True if another look may soon succeed where the last one could not. */
  #isHopeful = false;
  /** The new errors of lists that could be read before. */
  readonly #errors: unknown[] = [];
  #run: Promise<void> = Promise.resolve();
  #heart: NodeJS.Timeout | undefined;
  /** The next connections to open together. */
  #opening: Opening | undefined;
  /** Settles when the previous ones have their lists, or have waited for some time. */
  #lastOpening: Promise<unknown> = Promise.resolve();

  constructor(log: ChangeLog, options: ResolvedLiveOptions, appLog: FastifyBaseLogger) {
    this.#log = log;
    this.#options = options;
    this.#appLog = appLog;
    this.#slots = new ReadSlots(options.concurrency);
  }

  start(): void {
    const { heartbeatMs } = this.#options;
    this.#heart = setInterval(() => {
      const since = Date.now() - heartbeatMs / 2;
      for (const connection of this.#connections) connection.beat(since);
    }, heartbeatMs / 2);
    this.#run = this.#loop();
  }

  /** Ends all connections. Their clients may continue with another process. */
  async stop(): Promise<void> {
    this.#stop.abort();
    clearInterval(this.#heart);
    for (const connection of this.#connections) connection.end();
    this.#wake();
    await this.#run;
  }

  /** Makes the loop look at once. */
  wake(): void {
    this.#isWoken = true;
    this.#wake();
  }

  /**
   * Opens a connection. It reads the versions before the list, so that it notices every later commit.
   *
   * @throws ServiceUnavailable or TooManyRequests if there are too many, and errors of `ask()`
   */
  async open(request: FastifyRequest, reply: FastifyReply, list: LiveList): Promise<Connection> {
    const leave = this.#enter(request);
    let isOpening = true;
    const connection = new Connection(reply, list, () => this.wake());
    const close = (): void => {
      if (!this.#connections.delete(connection)) return;
      connection.end();
      if (!isOpening) leave();
      if (this.#connections.size === 0) this.#versions = undefined;
    };
    this.#connections.add(connection);
    // The loop may sleep longer while there are no connections.
    if (this.#connections.size === 1) this.wake();
    reply.raw.once('close', close);
    if (reply.raw.destroyed) close();
    try {
      if (this.#versions === undefined) {
        const versions = await this.#log.read();
        this.#versions ??= versions;
      }
      const id = request.headers['last-event-id'];
      connection.readAt = Date.now();
      const page = await this.#readFirst(list);
      connection.begin(page, typeof id === 'string' && id !== '' ? id : undefined);
      if (connection.isDirty) this.wake();
      return connection;
    } catch (error) {
      close();
      throw error;
    } finally {
      // A client that goes away meanwhile counts until its list has been read: it may not ask for others without end.
      isOpening = false;
      if (!this.#connections.has(connection)) leave();
    }
  }

  /**
   * Reads a connection's first list, together with the lists of other connections that opened while earlier ones were
   * being read.
   */
  async #readFirst(list: LiveList): Promise<LivePage> {
    const opening = (this.#opening ??= this.#openNext());
    // By now all of them are registered as connections, so no write after their lists are read is missed.
    await opening.begun;
    const read = inTime(
      list.ask().then((question) => opening.reads.of(question)),
      MAX_READ_MS,
    );
    opening.pending.push(read);
    return (await read).page;
  }

  #openNext(): Opening {
    const pending: Promise<unknown>[] = [];
    const { windowMs } = this.#options;
    const before = this.#lastOpening;
    const begun = before.then(() => {
      this.#opening = undefined;
      this.#lastOpening = new Promise((resolve) => {
        // By the next turn of the event loop, all have asked. A slow one does not delay later connections.
        setImmediate(() => resolve(settledOrLate(Promise.allSettled(pending), windowMs)));
      });
    });
    return { begun, pending, reads: new SharedReads(this.#slots) };
  }

  #enter(request: FastifyRequest): () => void {
    const { maxConnections, maxConnectionsPerUser } = this.#options;
    if (this.#connections.size >= maxConnections || this.#stop.signal.aborted) {
      throw new ServiceUnavailable('Too many live lists are open here; try again shortly', {
        headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
      });
    }
    const sender = senderOf(request);
    const count = this.#perSender.get(sender) ?? 0;
    if (count >= maxConnectionsPerUser) {
      throw new TooManyRequests(RETRY_AFTER_SECONDS, 'You have too many live lists open; close one first');
    }
    this.#perSender.set(sender, count + 1);
    return () => {
      const left = this.#perSender.get(sender)! - 1;
      if (left === 0) this.#perSender.delete(sender);
      else this.#perSender.set(sender, left);
    };
  }

  async #loop(): Promise<void> {
    const { windowMs } = this.#options;
    while (!this.#stop.signal.aborted) {
      this.#isWoken = false;
      this.#isHopeful = false;
      const startedAt = Date.now();
      try {
        if (this.#connections.size === 0) await this.#log.take();
        else await this.#notify();
        this.#isFailing = false;
      } catch (err) {
        if (!this.#isFailing) this.#appLog.error({ err }, 'live lists could not look for changes');
        this.#isFailing = true;
        this.#isHopeful = true;
      }
      await this.#sleep(startedAt + windowMs - Date.now());
    }
  }

  /** Reads all lists that may have changed, and sends the changes. */
  async #notify(): Promise<void> {
    const { refreshMs, windowMs } = this.#options;
    const known = this.#versions;
    const versions = await this.#log.read();
    // Without versions no connection has begun, and the first one reads them.
    if (known !== undefined && this.#versions !== undefined) {
      this.#versions = versions;
      for (const connection of this.#connections) {
        const { entity } = connection.list;
        if (known.get(entity) !== versions.get(entity)) connection.isDirty = true;
      }
    }
    const oldest = Date.now() - refreshMs;
    const due = [...this.#connections].filter(({ isDirty, readAt }) => isDirty || readAt < oldest);
    const listener = {
      onFailed: (connection: Connection, error: unknown) => this.#fail(connection, error),
      onOutdated: () => this.wake(),
    };
    await notifyAll(due, this.#slots, listener, windowMs);
    const errors = this.#errors.splice(0);
    if (errors.length === 0) return;
    this.#isHopeful = true;
    this.#appLog.error(
      { err: errors[0], lists: errors.length },
      'live lists could not be read; they are asked for again',
    );
  }

  /** Ends a connection if its user may no longer see the list. After any other error, its list is read again. */
  #fail(connection: Connection, error: unknown): void {
    const { statusCode: status, code, message } = toHttpError(error);
    if (status >= 400 && status < 500) return connection.refuse({ status, code, message });
    connection.isDirty = true;
    // If it keeps failing, it waits for the next look and is not logged again.
    if (!connection.isFailing) this.#errors.push(error);
    connection.isFailing = true;
  }

  /** Waits until the next look is due, or the loop is woken after at least `leastMs`. */
  async #sleep(leastMs: number): Promise<void> {
    const { signal } = this.#stop;
    if (leastMs > 0) await sleep(leastMs, undefined, { signal }).catch(() => {});
    if (this.#isWoken || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    // A random wait keeps processes that start together from looking at the same time.
    const { pollMs } = this.#options;
    const usualMs = this.#connections.size === 0 ? Math.max(IDLE_MS, pollMs) : pollMs;
    // Two processes may have taken the same notes, so that one of them lost.
    const restMs = (this.#isHopeful ? Math.min(RETRY_MS, usualMs) : usualMs) * (0.9 + 0.2 * Math.random());
    const timer = setTimeout(resolve, restMs);
    await promise;
    clearTimeout(timer);
  }
}

function senderOf(request: FastifyRequest): string {
  const user = getCurrentUser(request);
  return user === null ? `address ${clientNetwork(request)}` : `user ${user.id}`;
}
