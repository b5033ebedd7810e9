import { ConnectionException, type DriverException, type Platform } from '@mikro-orm/core';
import type { Document, MongoCollection } from './mongo-driver.ts';

/** Errors of MongoDB's driver that say that no server was there to answer, or none in time. */
const CONNECTION_LOST =
  /^Mongo(?:Network|NetworkTimeout|ServerSelection|OperationTimeout|WaitQueueTimeout|PoolCleared|PoolClearedOnNetwork|PoolClosed|TopologyClosed|NotConnected|ServerClosed|ClientClosed|ExpiredSession)Error$/;

export function isConnectionLost(error: Error): boolean {
  // The driver wraps the error of a write of several documents.
  const { errorResponse } = error as { readonly errorResponse?: { readonly name?: unknown } };
  return [error.name, errorResponse?.name].some((name) => typeof name === 'string' && CONNECTION_LOST.test(name));
}

/** The code of a command that took longer than it may (`timeoutMS`). */
const MAX_TIME_EXPIRED = 50;

/** True if no server answers: others who ask it now have no answer either. One that says itself that a command took too long is there. */
export function isServerGone(error: unknown): boolean {
  if (!(error instanceof Error) || !isConnectionLost(error)) return false;
  return (error.cause as { readonly code?: unknown } | undefined)?.code !== MAX_TIME_EXPIRED;
}

/** Has MikroORM make its own error of those that tell of a lost connection: it keeps neither their names nor their classes. */
export function convertLostConnections(platform: Platform): void {
  const converter = platform.getExceptionConverter();
  const convert = converter.convertException.bind(converter);
  converter.convertException = (error): DriverException => {
    return isConnectionLost(error) ? new ConnectionException(error) : convert(error);
  };
}

/** An error of a unique index: one of several documents at once does not tell which fields the index has. */
interface DuplicateKey {
  readonly code?: unknown;
  readonly message: string;
  keyPattern?: object;
}

const DUPLICATE_KEY = 11_000;

/** Runs a write of several documents. The error of a unique index tells afterwards which fields it has, as that of one document does. */
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
  const [, name] = message.match(/ index: (.+?) dup key:/) ?? [];
  const indexes = await collection.indexes().catch(() => []);
  return indexes.find((index) => index.name === name)?.key ?? {};
}
