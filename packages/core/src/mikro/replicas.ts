import type { Connection, EntityManager, MikroORM } from '@mikro-orm/core';
import { setTimeout as sleep } from 'node:timers/promises';
import { survives } from './ends-connection.ts';

/** The parts of MikroORM's drivers and SQL connections that are used. */
interface ReplicatedDriver {
  readonly replicas: Connection[];
  getConnection(type?: 'read' | 'write'): Connection;
}
interface SqlConnection {
  execute(sql: string): Promise<unknown>;
}

/** How long reads avoid a replica that has failed, in milliseconds. Then it is tested, without requests. */
const AVOIDED_MS = 5000;
/** The time after which a replica is tested that has not answered a read, in milliseconds. */
const SILENCE_MS = 1000;
/** The time limit of a test, in milliseconds. */
const TEST_MS = 1000;

/** Receives a line for the log of the application. */
export type Warn = (message: string, details: object) => void;

/** Lists the connections to read replicas, in the order of MikroORM's option `replicas`. */
export function replicasOf(em: object): Connection[] {
  return ((em as EntityManager).getDriver() as unknown as ReplicatedDriver).replicas;
}

/** The replicas that reads avoid, and the log. By connection to a replica. */
const logs = new WeakMap<Connection, Warn>();
const avoided = new WeakSet<Connection>();
/** Ends the tests of replicas that reads avoid. */
const testing = new WeakMap<Connection, AbortController>();

/**
 * Makes MikroORM choose only among the replicas that work, and the primary if there are none. Without this, each read
 * that meets a replica that is down fails.
 */
export function avoidLostReplicas(orm: MikroORM, warn: Warn): void {
  const driver = orm.em.getDriver() as unknown as ReplicatedDriver;
  if (driver.replicas.length === 0) return;
  const isKnown = driver.replicas.some((replica) => logs.has(replica));
  for (const replica of driver.replicas) logs.set(replica, warn);
  if (isKnown) return;
  for (const replica of driver.replicas) endTestsOnClose(replica);
  const getConnection = driver.getConnection.bind(driver);
  driver.getConnection = (type) => {
    if (type !== 'read') return getConnection(type);
    const working = driver.replicas.filter((replica) => !avoided.has(replica));
    return working[Math.floor(Math.random() * working.length)] ?? getConnection('write');
  };
}

/** A test after `orm.close()` would open a connection again, which keeps the process alive. */
function endTestsOnClose(replica: Connection): void {
  const close = replica.close.bind(replica);
  replica.close = async (force) => {
    testing.get(replica)?.abort();
    avoided.delete(replica);
    await close(force);
  };
}

/**
 * Runs a read on a replica, and on the primary if the replica is lost: it has an error that ends connections, or it
 * answers neither the read nor a test. Reads then avoid the replica for five seconds at a time, until a test succeeds.
 */
export async function readReplica<Result>(
  connection: Connection,
  read: () => Result | Promise<Result>,
  readPrimary: () => Result | Promise<Result>,
): Promise<Result> {
  if (!logs.has(connection)) return read();
  const over = new AbortController();
  const reading = Promise.resolve().then(read);
  // Its error comes too late if the replica was silent.
  reading.catch(() => {});
  try {
    return await Promise.race([reading, silence(connection, over.signal)]);
  } catch (error) {
    if (!(error instanceof Error) || survives(error) || !isDriverError(error)) throw error;
    avoid(connection, error);
    return await readPrimary();
  } finally {
    over.abort();
  }
}

/** Errors of the driver and of Node have a code, or are those of the pool. Others are faults of the program. */
function isDriverError(error: Error): boolean {
  const { code } = error as { readonly code?: unknown };
  return (
    typeof code === 'string' ||
    error instanceof AggregateError ||
    /connect|terminated|timeout|silent/i.test(error.message)
  );
}

/** Rejects if a replica does not answer a test after a time of silence. */
async function silence(connection: Connection, over: AbortSignal): Promise<never> {
  for (;;) {
    await sleep(SILENCE_MS, undefined, { ref: false, signal: over }).catch(() => {});
    // Nobody waits for the result any more.
    if (over.aborted) return new Promise<never>(() => {});
    await test(connection);
  }
}

async function test(connection: Connection): Promise<void> {
  const late = sleep(TEST_MS, undefined, { ref: false }).then(() => {
    throw new Error('The replica is silent');
  });
  const result = (connection as unknown as SqlConnection).execute('select 1');
  result.catch(() => {});
  await Promise.race([result, late]);
}

function avoid(connection: Connection, error: Error): void {
  if (avoided.has(connection)) return;
  avoided.add(connection);
  logs.get(connection)?.('a read replica is down: reads go to the primary and to other replicas', { err: error });
  const end = new AbortController();
  testing.set(connection, end);
  void untilItAnswers(connection, end.signal);
}

async function untilItAnswers(connection: Connection, signal: AbortSignal): Promise<void> {
  for (;;) {
    await sleep(AVOIDED_MS, undefined, { ref: false, signal }).catch(() => {});
    if (signal.aborted) return;
    try {
      await test(connection);
      avoided.delete(connection);
      logs.get(connection)?.('a read replica is back', {});
      return;
    } catch {
      // It is tested again.
    }
  }
}
