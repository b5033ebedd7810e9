import type { MongoConnection } from './mongo-driver.ts';
import { settleCommits } from './session.ts';

/**
 * Lets a client read arrays under every key. The driver looks up each key in an object of fields to leave as raw bytes,
 * and would find `constructor` on its prototype.
 */
export function readEveryKey(connection: MongoConnection): void {
  const createClient = connection.createClient.bind(connection);
  connection.createClient = () => {
    createClient();
    Object.setPrototypeOf(connection.getClient().bsonOptions.fieldsAsRaw, null);
  };
}

/** Makes every transaction on a connection repeat its commit until the outcome is known. */
export function askForCommits(connection: MongoConnection): void {
  const begin = connection.begin.bind(connection);
  connection.begin = async (options) => {
    const session = await begin(options);
    if (options?.ctx === undefined) settleCommits(session);
    return session;
  };
}
