import type { EntityManager, EntityMetadata, MetadataStorage, MikroORM, Platform } from '@mikro-orm/core';

/** A document, or a part of a command. */
export type Document = Record<string, unknown>;

interface Cursor {
  toArray(): Promise<Document[]>;
}

/** The part of the driver's collection that this package uses. */
export interface MongoCollection {
  find(filter: Document, options: Document): Cursor;
  aggregate(pipeline: readonly Document[], options: Document): Cursor;
  estimatedDocumentCount(options: Document): Promise<number>;
  insertOne(document: Document, options: Document): Promise<{ readonly insertedId: unknown }>;
  findOneAndUpdate(filter: Document, update: Document, options: Document): Promise<Document | null>;
  findOneAndDelete(filter: Document, options: Document): Promise<Document | null>;
  updateMany(filter: Document, update: Document, options: Document): Promise<{ readonly matchedCount: number }>;
  indexes(): Promise<readonly { readonly name: string; readonly key: Document; readonly unique?: boolean }[]>;
  deleteMany(filter: Document, options: Document): Promise<{ readonly deletedCount: number }>;
}

interface MongoDatabase {
  aggregate(pipeline: readonly Document[]): Cursor;
  command(command: Document): Promise<Document>;
}

/** The part of the driver's session that this package uses. */
export interface MongoSession {
  readonly transaction: { readonly isStarting: boolean; readonly isActive: boolean };
  startTransaction(): void;
  commitTransaction(): Promise<void>;
  abortTransaction(): Promise<void>;
  endSession(): Promise<void>;
}

/** The part of MikroORM's MongoDB connection that this package uses. */
export interface MongoConnection {
  getCollection(name: string): MongoCollection;
  getDb(): object;
  dropCollection(entity: EntityMetadata['class']): Promise<unknown>;
  createClient(): void;
  getClient(): {
    readonly bsonOptions: { readonly fieldsAsRaw: object };
    readonly options: { readonly maxPoolSize: number };
    db(name: string): MongoDatabase;
  };
  begin(options?: { readonly ctx?: MongoSession | undefined }): Promise<MongoSession>;
  transactional<Result>(work: (session: MongoSession) => Promise<Result>): Promise<Result>;
}

/** The options of the driver's writing methods. */
export interface WriteOptions {
  readonly ctx?: MongoSession | undefined;
  readonly upsert?: boolean;
}

/** The part of MikroORM's MongoDB driver that this package uses. */
export interface MongoDriver {
  nativeInsert(
    entity: EntityMetadata['class'],
    data: Document,
    options?: WriteOptions,
  ): Promise<{ readonly insertId: unknown }>;
  nativeInsertMany(
    entity: EntityMetadata['class'],
    data: Document[],
    options?: WriteOptions,
  ): Promise<{ readonly insertId: unknown }>;
  nativeUpdate(
    entity: EntityMetadata['class'],
    where: unknown,
    data: Document,
    options?: WriteOptions,
  ): Promise<unknown>;
  nativeUpdateMany(
    entity: EntityMetadata['class'],
    where: unknown[],
    data: Document[],
    options?: WriteOptions,
  ): Promise<unknown>;
  nativeDelete(entity: EntityMetadata['class'], where: unknown, options?: WriteOptions): Promise<unknown>;
  find(
    entity: EntityMetadata['class'],
    where: unknown,
    options: WriteOptions & { readonly fields: readonly string[] },
  ): Promise<Document[]>;
  lockPessimistic(entity: object, options: WriteOptions): Promise<void>;
  getConnection(purpose: 'read' | 'write'): MongoConnection;
  getMetadata(): MetadataStorage;
  getPlatform(): Platform;
}

/**
 * Returns MikroORM's driver if it is for MongoDB, else undefined. Checks its list of client packages, not its class
 * name, because minified bundles rename classes.
 */
export function mongoDriverOf({ driver }: Pick<MikroORM, 'driver'>): MongoDriver | undefined {
  return driver.getDependencies().includes('mongodb') ? (driver as unknown as MongoDriver) : undefined;
}

/** Returns the driver of an entity manager on MongoDB. */
export function driverOf(em: EntityManager): MongoDriver {
  return em.getDriver() as unknown as MongoDriver;
}

/** Returns a collection by name, over the writing connection. */
export function collectionIn(em: EntityManager, name: string): MongoCollection {
  return driverOf(em).getConnection('write').getCollection(name);
}
