/**
 * Tells other processes that something was written, so that they look sooner than after `pollMs`. It is a hint and no more: one that is lost, doubled
 * or made up changes nothing but the time.
 */
export interface WakeUps {
  /** Starts to listen. Returns, or resolves to, the function that ends it. */
  listen(wake: () => void): (() => unknown) | Promise<() => unknown>;
  /** Tells the others. Left out if the database does it. */
  tell?(): unknown;
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
 * Wakes other processes by Redis. It publishes by your connection of `ioredis`, and listens by a copy of it.
 *
 * @param channel shared by the processes of one application. Default: `viewset:live`
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
      // Something may have been written before it has subscribed.
      const subscribe = (): void => void listening.subscribe(channel).then(wake, () => {});
      // With each connection: it makes a new one by itself when one is lost. If Redis is down for long, it gives the first attempt up.
      listening.on('ready', subscribe);
      subscribe();
      return () => listening.disconnect();
    },
    tell: () => redis.publish(channel, ''),
  };
}

/** The part of a client of `pg` that is used. */
interface PostgresClient {
  connect(): Promise<unknown>;
  query(sql: string): Promise<unknown>;
  on(event: 'notification' | 'error' | 'end', listener: () => void): unknown;
  end(): Promise<unknown>;
}

/** The time after which a lost connection is made again, in milliseconds. */
const RECONNECT_MS = 2000;

/**
 * Wakes other processes by LISTEN and NOTIFY of PostgreSQL, on a connection of its own. It must not go through PgBouncer in transaction mode.
 *
 * @param connect makes a client of `pg`, which is not connected yet. It is called again when the connection is lost
 * @param channel a name without quotes, shared by the processes of one application. Default: `viewset_live`
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
        const own = connect();
        let isConnected = false;
        let isClosed = false;
        own.on('notification', wake);
        own.on('error', lost);
        own.on('end', lost);
        const listening = own.connect().then(async (): Promise<unknown> => {
          // Nobody wants to hear any more.
          if (isClosed) return own.end();
          isConnected = true;
          await own.query(`listen ${channel}`);
          if (isClosed) return undefined;
          client = own;
          // Something may have been written while nobody listened, here or in another process: this wakes all of them, and itself.
          return own.query(`notify ${channel}`);
        });
        listening.catch(lost);
        return async () => {
          isClosed = true;
          if (client === own) client = undefined;
          // One that is on its way would keep its caller waiting; it ends once it is there.
          if (isConnected) await own.end();
        };
      });
    },
    tell: () => client?.query(`notify ${channel}`),
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
 * Wakes a process by a change stream of MongoDB, which needs a replica set.
 *
 * @param collection gives the collection of `ListChange`
 * @example
 * import { MikroORM } from '@mikro-orm/mongodb';
 * const orm = await MikroORM.init({ dbName: 'shop', entities: [ListChange, ListVersion] });
 * await app.register(live, { wakeUps: mongoWakeUps(() => orm.em.getCollection(ListChange)) });
 */
export function mongoWakeUps(collection: () => WatchedCollection): WakeUps {
  return {
    listen(wake) {
      return keepOpen((lost) => {
        const own = collection().watch([{ $match: { operationType: 'insert' } }]);
        own.on('change', wake);
        own.on('error', lost);
        own.on('close', lost);
        // The stream has begun. Something may have been written before that.
        own.once('resumeTokenChanged', wake);
        return () => own.close();
      });
    },
  };
}

/**
 * Opens a connection, and opens it again some time after it is lost. Returns the function that closes it for good.
 *
 * @param open is given what to call when the connection is lost, and returns what closes it
 */
function keepOpen(open: (lost: () => void) => () => Promise<unknown>): () => Promise<void> {
  let isEnded = false;
  let timer: NodeJS.Timeout | undefined;
  let close: () => Promise<unknown>;
  const start = (): void => {
    let isLost = false;
    const own = open(() => {
      // A connection says so more than once, the last time perhaps when there is a new one.
      if (isLost) return;
      isLost = true;
      own().catch(() => {});
      if (!isEnded) timer = setTimeout(start, RECONNECT_MS);
    });
    close = own;
  };
  start();
  return async () => {
    isEnded = true;
    clearTimeout(timer);
    await close().catch(() => {});
  };
}
