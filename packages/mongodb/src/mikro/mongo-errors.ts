import { ConnectionException, type DriverException, type Platform } from '@mikro-orm/core';
import type { Document, MongoCollection } from './mongo-driver.ts';

/** The driver's errors which mean that no server answered, or not in time. */
const CONNECTION_LOST =
  /^Mongo(?:Network|NetworkTimeout|ServerSelection|OperationTimeout|WaitQueueTimeout|PoolCleared|PoolClearedOnNetwork|PoolClosed|TopologyClosed|NotConnected|ServerClosed|ClientClosed|ExpiredSession)Error$/;

export function isConnectionLost(error: Error): boolean {
  // For writes of several documents, the driver wraps the error.
  const { errorResponse } = error as { readonly errorResponse?: { readonly name?: unknown } };
  return [error.name, errorResponse?.name].some((name) => typeof name === 'string' && CONNECTION_LOST.test(name));
}

/** The error code of a command that exceeded its time limit (`timeoutMS`). */
const MAX_TIME_EXPIRED = 50;

/**
 * True if no server answers, so that other callers would get no answer either. If the server itself reports that a
 * command took too long, it is still there.
 */
export function isServerGone(error: unknown): boolean {
  if (!(error instanceof Error) || !isConnectionLost(error)) return false;
  return (error.cause as { readonly code?: unknown } | undefined)?.code !== MAX_TIME_EXPIRED;
}

/** Makes MikroORM convert lost connections to its own error, because its errors lose the driver's names and classes. */
export function convertLostConnections(platform: Platform): void {
  const converter = platform.getExceptionConverter();
  const convert = converter.convertException.bind(converter);
  converter.convertException = (error): DriverException => {
    return isConnectionLost(error) ? new ConnectionException(error) : convert(error);
  };
}

/** An error of a unique index. For writes of several documents it does not contain the index's fields. */
interface DuplicateKey {
  readonly code?: unknown;
  readonly message: string;
  keyPattern?: object;
}

const DUPLICATE_KEY = 11_000;

/** Runs a write of several documents. Adds the index's fields to errors of unique indexes, as for a single document. */
export async function namingKeys<Result>(
  collection: Pick<MongoCollection, 'indexes'>,
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write();
  } catch (error) {
    const duplicate = error as DuplicateKey;
    if (duplicate.code === DUPLICATE_KEY) duplicate.keyPattern ??= await keysOf(collection, duplicate.message);
    throw error;
  }
}

async function keysOf(collection: Pick<MongoCollection, 'indexes'>, message: string): Promise<Document> {
  const [, name] = message.match(/ index: (.+?)(?: collation: \{.*?\})? dup key:/) ?? [];
  const indexes = await collection.indexes().catch(() => []);
  return indexes.find((index) => index.name === name)?.key ?? {};
}
