import {
  type ChangeSet,
  type EntityManager,
  type EntityMetadata,
  type EventArgs,
  type EventManager,
  type EventSubscriber,
  FlushMode,
  LockMode,
  type MikroORM,
  Utils,
} from '@mikro-orm/core';
import type { FastifyBaseLogger } from 'fastify';
import { keyText } from '../../fields/primary-key.ts';
import { onlyPrimaryKey } from '../../fields/property.ts';
import type { FileField } from '../../files/file-field.ts';
import { cascadesToFiles, type DeletedAlong, fileProperties } from '../../files/file-owners.ts';
import type { FileStore } from '../../files/file-store.ts';
import type { StoredFile } from '../../files/file-type.ts';
import type { PendingFile } from '../../files/pending-file.ts';
import { getOrMake } from '../../support/get-or-make.ts';
import { metadataOf } from '../../mikro/entities.ts';
import { type TransactionEnd, transactionEnd } from '../../mikro/transaction-ends.ts';

type Values = Readonly<Record<string, unknown>>;

/** A file in a store, or in one of several: deleting an unknown key does nothing. */
interface KeptFile {
  readonly stores: Iterable<FileStore>;
  readonly key: string;
}

/** The number of keys in one read. */
const BATCH_SIZE = 1000;
/** The number of concurrent deletions. */
const DELETIONS_AT_ONCE = 20;

/**
 * Keeps the files of an ORM's records in step with its transactions. After a rollback it deletes the files that the
 * transaction stored. After a commit it deletes the files that were replaced, and the files of deleted records.
 *
 * It subscribes to MikroORM's changes and transactions. So it works for every writer, in any transaction: a view, a
 * hook, an action, or a job of the application. Statements that bypass MikroORM's unit of work are not seen.
 */
export class FileChanges {
  readonly #log: FastifyBaseLogger;
  readonly #stores = new Map<string, Set<FileStore>>();
  readonly #cascades: ReadonlyMap<EntityMetadata, readonly DeletedAlong[]>;
  /** The files that nothing refers to after a transaction is committed. */
  readonly #obsolete = new WeakMap<TransactionEnd, KeptFile[]>();
  readonly #found = new WeakMap<ChangeSet<object>, readonly KeptFile[]>();
  /** The changes and deletions that were already searched for files. */
  readonly #seen = new WeakSet<ChangeSet<object>>();
  /** The stored values of changed records, from the database. */
  readonly #stored = new WeakMap<ChangeSet<object>, Values | undefined>();

  constructor(orm: MikroORM, log: FastifyBaseLogger) {
    this.#log = log;
    const entities = [...orm.getMetadata()];
    this.#cascades = cascadesToFiles(entities);
    const owners = entities.filter((meta) => fileProperties(meta).length > 0);
    const above = entities.filter((meta) => !owners.includes(meta) && this.#cascades.has(meta.root));
    const events = orm.em.getEventManager();
    events.registerSubscriber(this.#recordSubscriber(owners, { withUpdates: true }));
    // A subscriber without entity names receives events of every entity.
    if (above.length > 0) events.registerSubscriber(this.#recordSubscriber(above, { withUpdates: false }));
  }

  /** Registers a store to delete the files of a property from. */
  declareStore({ root }: EntityMetadata, property: string, store: FileStore): void {
    const name = `${root.className}.${property}`;
    this.#stores.set(name, (this.#stores.get(name) ?? new Set()).add(store));
  }

  /** Stores a file of a record, within the entity manager's current transaction. */
  async store(em: EntityManager, { store }: FileField, pending: PendingFile): Promise<StoredFile> {
    // Get the end now: a request that is given up may end the transaction while the file is being stored.
    const end = transactionEnd(em);
    const file = await pending.store((key) => this.#deleteOne(store, key));
    end?.afterCommit(() => this.#orWarn(() => pending.finish(), file.key));
    // A request that was given up has no effect, even if its hooks continue.
    await end?.afterRollback(async () => {
      await this.#deleteOne(store, file.key);
      await this.#orWarn(() => pending.release(), file.key);
    });
    return file;
  }

  #recordSubscriber(entities: readonly EntityMetadata[], { withUpdates }: { withUpdates: boolean }): EventSubscriber {
    const keep = (changes: ChangeSet<object> | undefined, files: readonly KeptFile[]): void => {
      if (changes !== undefined && files.length > 0) this.#found.set(changes, files);
    };
    const take = async ({ em, changeSet }: EventArgs<object>): Promise<void> => {
      const files = changeSet && this.#found.get(changeSet);
      if (files !== undefined) await this.#deleteAfterCommit(em, files);
    };
    return {
      getSubscribedEntities: () => entities.map((meta) => meta.class),
      ...(withUpdates && {
        beforeUpdate: async ({ em, changeSet }: EventArgs<object>) =>
          keep(changeSet, await this.#findReplacedFiles(em, changeSet!)),
        afterUpdate: take,
      }),
      beforeDelete: async ({ em, changeSet }: EventArgs<object>) =>
        keep(changeSet, await this.#findDeletedFiles(em, changeSet!)),
      afterDelete: take,
    };
  }

  /** Finds the files that a change of a record replaces. Reads all changed records of the flush at once. */
  async #findReplacedFiles(em: EntityManager, changes: ChangeSet<object>): Promise<KeptFile[]> {
    const { entity } = changes;
    const meta = metadataOf(em, entity);
    const names = changedFiles(meta, changes);
    if (names.length === 0) return [];
    if (!this.#seen.has(changes)) await this.#readChanged(em, changes);
    const record = this.#stored.get(changes);
    const isReplaced = (name: string): boolean => fileIn(record, name)?.key !== fileIn(entity as Values, name)?.key;
    return record === undefined ? [] : this.#storedFiles(meta, names.filter(isReplaced), [record]);
  }

  async #readChanged(em: EntityManager, changes: ChangeSet<object>): Promise<void> {
    const meta = metadataOf(em, changes.entity);
    const changed = this.#findUnseen(em, changes).filter((each) => changedFiles(meta, each).length > 0);
    const records = await this.#recordsOf(em, meta, changed);
    const byKey = new Map(records.map((record) => [keyText(Utils.extractPK(record)), record]));
    for (const each of changed) {
      this.#seen.add(each);
      this.#stored.set(each, byKey.get(keyText(each.getPrimaryKey())));
    }
  }

  /**
   * Finds the files of deleted records, and of records that the database deletes with them. The first deletion handles
   * all deletions of its flush.
   */
  async #findDeletedFiles(em: EntityManager, changes: ChangeSet<object>): Promise<KeptFile[]> {
    // A change may hold the metadata of another ORM: MikroORM uses the ORM that discovered the class last.
    const meta = metadataOf(em, changes.entity);
    const deleted = this.#findUnseen(em, changes);
    for (const each of deleted) this.#seen.add(each);
    // Reads, and so locks, even records without files: nobody can then add a record with a file below a deleted record.
    const deletedRecords = await this.#recordsOf(em, meta, deleted);
    const keys = deleted.map((each) => each.getPrimaryKey());
    return [
      ...this.#storedFiles(meta, fileNames(meta), deletedRecords),
      ...(await this.#findFilesDeletedAlong(em, meta, keys, new Set())),
    ];
  }

  /** Returns the changes of the same kind in a flush that were not searched yet. */
  #findUnseen(em: EntityManager, { meta, type }: ChangeSet<object>): ChangeSet<object>[] {
    const all = em.getUnitOfWork().getChangeSets();
    return all.filter((each) => each.meta === meta && each.type === type && !this.#seen.has(each));
  }

  /** Reads records from the database, because a loaded entity may be older than the record's current file. */
  async #recordsOf(em: EntityManager, meta: EntityMetadata, changes: readonly ChangeSet<object>[]): Promise<Values[]> {
    const found: Values[] = [];
    for (let start = 0; start < changes.length; start += BATCH_SIZE) {
      const keys = changes.slice(start, start + BATCH_SIZE).map((each) => each.getPrimaryKey());
      found.push(...(await this.#read(em, meta, { [keyOf(meta)]: { $in: keys } })));
    }
    return found;
  }

  /** Finds the files of all records that the database deletes with the records of these keys. */
  async #findFilesDeletedAlong(
    em: EntityManager,
    { root }: EntityMetadata,
    keys: readonly unknown[],
    seen: Set<string>,
  ): Promise<KeptFile[]> {
    const found: KeptFile[] = [];
    for (const { meta, relation } of this.#cascades.get(root) ?? []) {
      const whereOf = (owners: readonly unknown[]): Values => ({ [relation]: { [keyOf(root)]: { $in: owners } } });
      for await (const records of this.#pages(em, meta, keys, whereOf)) {
        found.push(...this.#storedFiles(meta, fileNames(meta), records));
        // Records of a tree may lead back to the start of the deletion.
        const news = records
          .map((record) => record[keyOf(meta)])
          .filter((each) => !seen.has(`${meta.className} ${keyText(each)}`));
        for (const each of news) seen.add(`${meta.className} ${keyText(each)}`);
        found.push(...(await this.#findFilesDeletedAlong(em, meta, news, seen)));
      }
    }
    return found;
  }

  /** Reads the records of some owners in pages, with a limited number of owners and of records in each read. */
  async *#pages(
    em: EntityManager,
    meta: EntityMetadata,
    owners: readonly unknown[],
    whereOf: (owners: readonly unknown[]) => Values,
  ): AsyncGenerator<Values[], void> {
    const key = keyOf(meta);
    for (let start = 0; start < owners.length; start += BATCH_SIZE) {
      const all = whereOf(owners.slice(start, start + BATCH_SIZE));
      let last: Values | undefined;
      do {
        const where = last === undefined ? all : { ...all, [key]: { $gt: last[key] } };
        const records = await this.#read(em, meta, where);
        yield records;
        last = records.length === BATCH_SIZE ? records.at(-1) : undefined;
      } while (last !== undefined);
    }
  }

  /**
   * Reads a page of records, in the order of their keys, bypassing the unit of work and all filters. In a transaction
   * it locks them, so that no record gets a new file before this transaction writes it.
   */
  async #read(em: EntityManager, meta: EntityMetadata, where: Values): Promise<Values[]> {
    const key = keyOf(meta);
    const options = {
      fields: [key, ...fileNames(meta)] as never[],
      filters: false,
      disableIdentityMap: true,
      flushMode: FlushMode.COMMIT,
      limit: BATCH_SIZE,
      orderBy: { [key]: 'asc' },
      ...(em.isInTransaction() && { lockMode: LockMode.PESSIMISTIC_WRITE }),
    } as const;
    const found: unknown = await em.find(meta.class, where, options as object);
    return found as Values[];
  }

  #storedFiles({ root }: EntityMetadata, names: readonly string[], records: readonly Values[]): KeptFile[] {
    return records.flatMap((record) =>
      names.flatMap((name) => {
        const file = fileIn(record, name);
        const stores = this.#stores.get(`${root.className}.${name}`);
        return file === undefined || stores === undefined ? [] : [{ stores, key: file.key }];
      }),
    );
  }

  async #deleteAfterCommit(em: EntityManager, files: readonly KeptFile[]): Promise<void> {
    const end = transactionEnd(em);
    if (end === undefined) return this.#delete(files);
    const waiting = this.#obsolete.get(end);
    if (waiting !== undefined) return void waiting.push(...files);
    const all = [...files];
    this.#obsolete.set(end, all);
    end.afterCommit(() => this.#delete(all));
  }

  /** Deletes files that nothing refers to. If a deletion fails, the file stays and the log names it. */
  async #delete(files: readonly KeptFile[]): Promise<void> {
    const deletions = files.flatMap(({ stores, key }) => [...stores].map((store) => ({ store, key })));
    for (let start = 0; start < deletions.length; start += DELETIONS_AT_ONCE) {
      const some = deletions.slice(start, start + DELETIONS_AT_ONCE);
      await Promise.all(some.map(({ store, key }) => this.#deleteOne(store, key)));
    }
  }

  #deleteOne(store: FileStore, key: string): Promise<void> {
    return this.#orWarn(() => store.delete(key), key);
  }

  async #orWarn(clean: () => Promise<void>, key: string): Promise<void> {
    try {
      await clean();
    } catch (err) {
      this.#log.warn({ err, key }, 'a file that nothing refers to is left');
    }
  }
}

const changesOf = new WeakMap<EventManager, FileChanges>();

/** Returns the file changes of an ORM. The first call subscribes. */
export function fileChangesOf(orm: MikroORM, log: FastifyBaseLogger): FileChanges {
  // A subscriber cannot be removed, and an ORM may outlive many applications.
  return getOrMake(changesOf, orm.em.getEventManager(), () => new FileChanges(orm, log));
}

/**
 * Lists the files that a change of a record may replace. It also compares the entity, because changes by a subscriber
 * are not in the payload yet.
 */
function changedFiles(meta: EntityMetadata, { payload, entity, originalEntity }: ChangeSet<object>): string[] {
  const isChanged = (name: string): boolean =>
    fileIn(originalEntity, name)?.key !== fileIn(entity as Values, name)?.key;
  return fileNames(meta).filter((name) => name in payload || (originalEntity !== undefined && isChanged(name)));
}

function fileNames(meta: EntityMetadata): string[] {
  return fileProperties(meta).map(({ name }) => name);
}

function keyOf(meta: EntityMetadata): string {
  return onlyPrimaryKey(meta)!.name;
}

/** Reads a file from a record or a row. */
function fileIn(record: Values | undefined, name: string): StoredFile | undefined {
  const value = record?.[name];
  const file: unknown = typeof value === 'string' ? JSON.parse(value) : value;
  return (file ?? undefined) as StoredFile | undefined;
}
