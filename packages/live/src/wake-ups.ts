/**
 * Wakes other processes after a write, so that they look sooner than after `pollMs`. It is only a hint: if it is lost,
 * doubled or invented, only the time changes.
 */
export interface WakeUps {
  /** Starts listening. Returns, or resolves to, the function that stops it. */
  listen(wake: () => void): (() => unknown) | Promise<() => unknown>;
  /** Wakes the others. Omit it if the database does that. */
  notify?(): unknown;
}

/** The part of an ioredis connection that is used. */
interface RedisLike {
  duplicate(): RedisLike;
  publish(channel: string, message: string): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  on(event: 'message', listener: () => void): unknown;
  on(event: 'ready', listener: () => void): unknown;
  on(event: 'error', listener: () => void): unknown;
  disconnect(): void;
}

/**
 * Wakes other processes through Redis. It publishes on your `ioredis` connection, and listens on a duplicate of it.
 *
 * @param channel the name that all processes of one application share. Default: `viewset:live`
 * @example
 * await app.register(live, { wakeUps: redisWakeUps(new Redis('redis://localhost')) });
 */
export function redisWakeUps(redis: RedisLike, channel = 'viewset:live'): WakeUps {
  if (typeof redis?.duplicate !== 'function') {
    throw new TypeError(
      'redisWakeUps(): the connection must be a Redis of ioredis, such as new Redis("redis://localhost")',
    );
  }
  return {
    listen(wake) {
      const listening = redis.duplicate();
      listening.on('error', () => {});
      listening.on('message', wake);
      // There may have been writes before it subscribed.
      const subscribe = (): void => void listening.subscribe(channel).then(wake, () => {});
      // Subscribes after each connect, because `ioredis` reconnects by itself. If Redis is down for long, the first
      // attempt fails.
      listening.on('ready', subscribe);
      subscribe();
      return () => listening.disconnect();
    },
    notify: () => redis.publish(channel, ''),
  };
}

/** The part of a client of `pg` that is used. */
interface PostgresClient {
  connect(): Promise<unknown>;
  query(sql: string): Promise<unknown>;
  on(event: 'notification' | 'error' | 'end', listener: () => void): unknown;
  end(): Promise<unknown>;
}

/** The wait before a lost connection is opened again, in milliseconds. */
const RECONNECT_MS = 2000;

/**
 * Wakes other processes with PostgreSQL's LISTEN and NOTIFY, on a separate connection. The connection must not use
 * PgBouncer in transaction mode.
 *
 * @param connect makes an unconnected client of `pg`. It is called again when the connection is lost
 * @param channel a name without quotes that all processes of one application share. Default: `viewset_live`
 * @example
 * import { Client } from 'pg';
 * await app.register(live, { wakeUps: postgresWakeUps(() => new Client(process.env.DATABASE_URL)) });
 */
export function postgresWakeUps(connect: () => PostgresClient, channel = 'viewset_live'): WakeUps {
  if (!/^[a-z_][a-z\d_]{0,62}$/.test(channel)) {
    throw new TypeError(`postgresWakeUps(): a channel is a name in lower case, not ${JSON.stringify(channel)}`);
  }
  let client: PostgresClient | undefined;
  return {
    listen(wake) {
      return keepOpen((lost) => {
        const connection = connect();
        let isConnected = false;
        let isClosed = false;
        connection.on('notification', wake);
        connection.on('error', lost);
        connection.on('end', lost);
        const listening = connection.connect().then(async (): Promise<unknown> => {
          // Listening was stopped meanwhile.
          if (isClosed) return connection.end();
          isConnected = true;
          await connection.query(`listen ${channel}`);
          if (isClosed) return undefined;
          client = connection;
          // There may have been writes while this process was not listening, or another one. This wakes all processes,
          // itself included.
          return connection.query(`notify ${channel}`);
        });
        listening.catch(lost);
        return async () => {
          isClosed = true;
          if (client === connection) client = undefined;
          // A client that is still connecting would delay the caller; it ends itself once connected.
          if (isConnected) await connection.end();
        };
      });
    },
    notify: () => client?.query(`notify ${channel}`),
  };
}

/** The part of a change stream of `mongodb` that is used. */
interface ChangeStream {
  on(event: 'change' | 'error' | 'close', listener: () => void): unknown;
  once(event: 'resumeTokenChanged', listener: () => void): unknown;
  close(): Promise<unknown>;
}

/** The part of a collection of `mongodb` that is used. */
interface WatchedCollection {
  watch(pipeline: object[]): ChangeStream;
}

/**
 * Wakes a process with a MongoDB change stream, which needs a replica set.
 *
 * @param collection returns the collection of `ListChange`
 * @example
 * import { MikroORM } from '@mikro-orm/mongodb';
 * const orm = await MikroORM.init({ dbName: 'shop', entities: [ListChange, ListVersion] });
 * await app.register(live, { wakeUps: mongoWakeUps(() => orm.em.getCollection(ListChange)) });
 */
export function mongoWakeUps(collection: () => WatchedCollection): WakeUps {
  return {
    listen(wake) {
      return keepOpen((lost) => {
        const stream = collection().watch([{ $match: { operationType: 'insert' } }]);
        stream.on('change', wake);
        stream.on('error', lost);
        stream.on('close', lost);
        // The stream has begun. There may have been writes before.
        stream.once('resumeTokenChanged', wake);
        return () => stream.close();
      });
    },
  };
}

/**
 * Opens a connection, and opens it again some time after each loss. Returns the function that closes it for good.
 *
 * @param open gets a function to call when the connection is lost, and returns the one that closes it
 */
function keepOpen(open: (lost: () => void) => () => Promise<unknown>): () => Promise<void> {
  let isEnded = false;
  let timer: NodeJS.Timeout | undefined;
  let close: () => Promise<unknown>;
  const start = (): void => {
    let isLost = false;
    const opened = open(() => {
      // A connection may report its loss several times, even after a new one is open.
      if (isLost) return;
      isLost = true;
      opened().catch(() => {});
      if (!isEnded) timer = setTimeout(start, RECONNECT_MS);
    });
    close = opened;
  };
  start();
  return async () => {
    isEnded = true;
    clearTimeout(timer);
    await close().catch(() => {});
  };
}
