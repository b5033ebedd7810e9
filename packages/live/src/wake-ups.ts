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
  return {
    listen(wake) {
      const listening = redis.duplicate();
      listening.on('error', () => {});
      listening.on('message', wake);
      // It subscribes again by itself after it has lost its connection.
      // Something may have been written before that.
      listening.subscribe(channel).then(wake, () => {});
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
      let isEnded = false;
      let timer: NodeJS.Timeout | undefined;
      const start = (): void => {
        const own = connect();
        const again = (): void => {
          if (client === own) client = undefined;
          own.end().catch(() => {});
          if (!isEnded && timer === undefined) timer = setTimeout(start, RECONNECT_MS);
        };
        timer = undefined;
        own.on('notification', wake);
        own.on('error', again);
        own.on('end', again);
        const listening = own.connect().then(async (): Promise<unknown> => {
          await own.query(`listen ${channel}`);
          // Nobody wants to hear any more: the connection that was on its way ends here.
          if (isEnded) return own.end();
          client = own;
          // Something may have been written while nobody listened, here or in another process: this wakes all of them, and itself.
          return own.query(`notify ${channel}`);
        });
        listening.catch(again);
      };
      start();
      return async () => {
        isEnded = true;
        clearTimeout(timer);
        await client?.end().catch(() => {});
      };
    },
    tell: () => client?.query(`notify ${channel}`),
  };
}

/** The part of a change stream of `mongodb` that is used. */
interface ChangeStream {
  on(event: 'change' | 'error' | 'close', listener: () => void): unknown;
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
      let isEnded = false;
      let timer: NodeJS.Timeout | undefined;
      let stream: ChangeStream;
      const start = (): void => {
        timer = undefined;
        const own = collection().watch([{ $match: { operationType: 'insert' } }]);
        const again = (): void => {
          own.close().catch(() => {});
          if (!isEnded && timer === undefined) timer = setTimeout(start, RECONNECT_MS);
        };
        own.on('change', wake);
        own.on('error', again);
        own.on('close', again);
        stream = own;
        wake();
      };
      start();
      return async () => {
        isEnded = true;
        clearTimeout(timer);
        await stream.close().catch(() => {});
      };
    },
  };
}
