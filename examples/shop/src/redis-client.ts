import { Cluster, Redis, type RedisOptions } from 'ioredis';

/** How long a connection may take to come about, and the longest pause between two attempts. */
const CONNECT_TIMEOUT_MS = 2000;
const LONGEST_PAUSE_MS = 500;
/** After this time without a reply, a client of Sentinels requests the address of the master again. */
const SILENCE_MS = 2000;
/** How soon a client notices that another node of a Cluster has taken over slots. */
const SLOTS_REFRESH_MS = 1000;
const SENTINEL_PORT = 26_379;
const REDIS_PORT = 6379;

const pause = (attempt: number): number => Math.min(attempt * 50, LONGEST_PAUSE_MS);

const OPTIONS = {
  connectTimeout: CONNECT_TIMEOUT_MS,
  retryStrategy: pause,
  // A command sent while the connection broke may have run: sent again, it would count or use up a code twice.
  autoResendUnfulfilledCommands: false,
  keepAlive: 10_000,
} satisfies RedisOptions;

/**
 * The client for a REDIS_URL:
 *
 * - `redis://host:6379/0`: one server.
 * - `redis://one:7000,two:7000`: nodes of a Redis Cluster.
 * - `redis+sentinel://one:26379,two:26379/name/0`: Sentinels, the name of the master, and the database.
 *
 * A user name and a password before the hosts are those of Redis.
 */
export function redisClient(url: string): Redis | Cluster {
  const [, scheme, credentials, hosts = '', path = ''] = /^([^:]+):\/\/(?:(.*)@)?([^/?]*)(.*)$/.exec(url) ?? [];
  const [username, password] = (credentials ?? '').split(':').map((part) => decodeURIComponent(part));
  const login = { ...(username ? { username } : {}), ...(password ? { password } : {}) };
  if (scheme === 'redis+sentinel') {
    const [, name = '', db] = path.split('/');
    return new Redis({
      ...OPTIONS,
      ...login,
      sentinels: nodesOf(hosts, SENTINEL_PORT),
      name: decodeURIComponent(name),
      db: Number(db ?? 0),
      sentinelRetryStrategy: pause,
      // A master that hangs keeps its connections. `failoverDetector` may end the client for ever, see docs/stores.md.
      socketTimeout: SILENCE_MS,
    });
  }
  if (!hosts.includes(',')) return new Redis(url, OPTIONS);
  return new Cluster(nodesOf(hosts, REDIS_PORT), {
    clusterRetryStrategy: pause,
    slotsRefreshInterval: SLOTS_REFRESH_MS,
    redisOptions: { ...OPTIONS, ...login, ...(scheme === 'rediss' ? { tls: {} } : {}) },
  });
}

function nodesOf(hosts: string, defaultPort: number): { host: string; port: number }[] {
  return hosts.split(',').map((each) => {
    const { hostname, port } = new URL(`redis://${each}`);
    return { host: hostname, port: port === '' ? defaultPort : Number(port) };
  });
}
