import type { MongoConnection } from './mongo-driver.ts';
import { settleCommits } from './session.ts';

/**
 * Has the client of a connection read lists under every key: it looks the keys up whose values it leaves as bytes, and finds
 * `constructor` in an object that has a prototype.
 */
export function readEveryKey(connection: MongoConnection): void {
  const createClient = connection.createClient.bind(connection);
  connection.createClient = () => {
    createClient();
    Object.setPrototypeOf(connection.getClient().bsonOptions.fieldsAsRaw, null);
  };
}

/** Has every transaction that begins on a connection ask for its commit until it knows the outcome. */
export function askForCommits(connection: MongoConnection): void {
  const begin = connection.begin.bind(connection);
  connection.begin = async (options) => {
    const session = await begin(options);
    if (options?.ctx === undefined) settleCommits(session);
    return session;
  };
}
