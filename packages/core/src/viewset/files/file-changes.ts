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
import { metadataOf } from '../../mikro/entities.ts';
import { type TransactionEnd, transactionEnd } from '../../mikro/transaction-ends.ts';

type Values = Readonly<Record<string, unknown>>;

/** A file in a store, or in one of several: deleting a file from a store that has none of its key does nothing. */
interface KeptFile {
  readonly stores: Iterable<FileStore>;
  readonly key: string;
}

/** Records whose keys are read at once. */
const BATCH_SIZE = 1000;
/** Files that are deleted at once. */
const DELETIONS_AT_ONCE = 20;

/**
 * Keeps the files of an ORM's records in step with its transactions: deletes those that a transaction has stored once it is
 * rolled back, and those that it has replaced, or whose records it has deleted, once it is committed.
 *
 * It hears of the changes and transactions of MikroORM, so that it makes no difference who writes: a view, a hook, an action, or
 * a job of the application, in whatever transaction. Statements that pass MikroORM's unit of work by are not seen.
 */
export class FileChanges {
  readonly #log: FastifyBaseLogger;
  readonly #stores = new Map<string, Set<FileStore>>();
  readonly #cascades: ReadonlyMap<EntityMetadata, readonly DeletedAlong[]>;
  /** The files that nothing refers to once a transaction is committed. */
  readonly #obsolete = new WeakMap<TransactionEnd, KeptFile[]>();
  readonly #found = new WeakMap<ChangeSet<object>, readonly KeptFile[]>();
  /** The changes and deletions whose files were looked for. */
  readonly #seen = new WeakSet<ChangeSet<object>>();
  /** The records that are changed, as the database has them. */
  readonly #stored = new WeakMap<ChangeSet<object>, Values | undefined>();

  constructor(orm: MikroORM, log: FastifyBaseLogger) {
    this.#log = log;
    const entities = [...orm.getMetadata()];
    this.#cascades = cascadesToFiles(entities);
    const owners = entities.filter((meta) => fileProperties(meta).length > 0);
    const above = entities.filter((meta) => !owners.includes(meta) && this.#cascades.has(meta.root));
    const events = orm.em.getEventManager();
    events.registerSubscriber(this.#recordSubscriber(owners, { hearsUpdates: true }));
    // Without a name, a subscriber hears of every entity.
    if (above.length > 0) events.registerSubscriber(this.#recordSubscriber(above, { hearsUpdates: false }));
  }

  /** Has the files that a property of an entity refers to deleted from a store. */
  declareStore({ root }: EntityMetadata, property: string, store: FileStore): void {
    const name = `${root.className}.${property}`;
    this.#stores.set(name, (this.#stores.get(name) ?? new Set()).add(store));
  }

  /** Stores a file of a record that the current transaction of an entity manager writes. */
  async store(em: EntityManager, { store }: FileField, pending: PendingFile): Promise<StoredFile> {
    // That of now: the transaction may end, by a request that is given up, while the file is on its way.
    const end = transactionEnd(em);
    const file = await pending.store((key) => this.#deleteOne(store, key));
    end?.afterCommit(() => this.#orWarn(() => pending.finish(), file.key));
    // A request that was given up has no effect, however long its hooks go on.
    await end?.afterRollback(async () => {
      await this.#deleteOne(store, file.key);
      await this.#orWarn(() => pending.release(), file.key);
    });
    return file;
  }

  #recordSubscriber(entities: readonly EntityMetadata[], { hearsUpdates }: { hearsUpdates: boolean }): EventSubscriber {
    const keep = (changes: ChangeSet<object> | undefined, files: readonly KeptFile[]): void => {
      if (changes !== undefined && files.length > 0) this.#found.set(changes, files);
    };
    const take = async ({ em, changeSet }: EventArgs<object>): Promise<void> => {
      const files = changeSet && this.#found.get(changeSet);
      if (files !== undefined) await this.#deleteAfterCommit(em, files);
    };
    return {
      getSubscribedEntities: () => entities.map((meta) => meta.class),
      ...(hearsUpdates && {
        beforeUpdate: async ({ em, changeSet }: EventArgs<object>) =>
          keep(changeSet, await this.#findReplacedFiles(em, changeSet!)),
        afterUpdate: take,
      }),
      beforeDelete: async ({ em, changeSet }: EventArgs<object>) =>
        keep(changeSet, await this.#findDeletedFiles(em, changeSet!)),
      afterDelete: take,
    };
  }

  /** Finds the files that a change of a record replaces; reads those of its flush at once. */
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

  /** Finds the files of the records of one flush, at the first of them that is deleted, and of those that the database deletes along. */
  async #findDeletedFiles(em: EntityManager, changes: ChangeSet<object>): Promise<KeptFile[]> {
    // A change may have the metadata of another ORM: MikroORM takes those of the ORM that has discovered the class last.
    const meta = metadataOf(em, changes.entity);
    const deleted = this.#findUnseen(em, changes);
    for (const each of deleted) this.#seen.add(each);
    // Read, and so locked, even if they have no files: no record with a file can be added to one that is deleted.
    const own = await this.#recordsOf(em, meta, deleted);
    const keys = deleted.map((each) => each.getPrimaryKey());
    return [
      ...this.#storedFiles(meta, fileNames(meta), own),
      ...(await this.#findFilesDeletedAlong(em, meta, keys, new Set())),
    ];
  }

  /** Returns the changes of the same kind in one flush whose files were not looked for. */
  #findUnseen(em: EntityManager, { meta, type }: ChangeSet<object>): ChangeSet<object>[] {
    const all = em.getUnitOfWork().getChangeSets();
    return all.filter((each) => each.meta === meta && each.type === type && !this.#seen.has(each));
  }

  /** Reads records as the database has them: an entity may have been loaded before others gave its record a newer file. */
  async #recordsOf(em: EntityManager, meta: EntityMetadata, changes: readonly ChangeSet<object>[]): Promise<Values[]> {
    const found: Values[] = [];
    for (let start = 0; start < changes.length; start += BATCH_SIZE) {
      const keys = changes.slice(start, start + BATCH_SIZE).map((each) => each.getPrimaryKey());
      found.push(...(await this.#read(em, meta, { [keyOf(meta)]: { $in: keys } })));
    }
    return found;
  }

  /** Finds the files of all records that the database deletes with those of some keys. */
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
        // Records of a tree may lead back to where the deletion began.
        const news = records
          .map((record) => record[keyOf(meta)])
          .filter((each) => !seen.has(`${meta.className} ${keyText(each)}`));
        for (const each of news) seen.add(`${meta.className} ${keyText(each)}`);
        found.push(...(await this.#findFilesDeletedAlong(em, meta, news, seen)));
      }
    }
    return found;
  }

  /** Reads the records of some owners, a bounded number at once: of so many owners, and so many of these. */
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
   * Reads records past the unit of work, in the order of their keys and so many at once, whatever filters are on, and locks them: else
   * others could give one of them a new file before it is written.
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

  /** Deletes files that nothing refers to. One that cannot be deleted now stays, and the log says which. */
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

/** Returns the changes of an ORM's files, which are heard of from the first call on. */
export function fileChangesOf(orm: MikroORM, log: FastifyBaseLogger): FileChanges {
  // An ORM has no way to remove a subscriber, and may outlive many applications.
  const events = orm.em.getEventManager();
  const known = changesOf.get(events) ?? new FileChanges(orm, log);
  changesOf.set(events, known);
  return known;
}

/** Lists the files that a change of a record may replace: a subscriber's own change of the entity is not in the payload yet. */
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

/** Reads what a record, or a row of it, keeps of a file. */
function fileIn(record: Values | undefined, name: string): StoredFile | undefined {
  const value = record?.[name];
  const file: unknown = typeof value === 'string' ? JSON.parse(value) : value;
  return (file ?? undefined) as StoredFile | undefined;
}
