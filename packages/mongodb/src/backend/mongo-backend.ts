import type { EntityManager, EntityMetadata, MikroORM } from '@mikro-orm/core';
import { type Condition, type Counting, type FieldPath, ImproperlyConfigured } from '@viewset/core';
import {
  type Group,
  type Grouping,
  type JoinedChildren,
  type Query,
  type Question,
  type Reading,
  ReadingBackend,
  readPage,
  type RecordWithChildren,
  type RelatedProjection,
  type RowPage,
  type RowWrite,
  type Select,
  type Slice,
  type StartWarning,
  type Visible,
} from '@viewset/core/backend';
import type { MongoSession } from '../mikro/mongo-driver.ts';
import { indexNames, missingIndexes } from '../mikro/indexes.ts';
import { requireReplicaSet } from '../mikro/server.ts';
import { markRollbackOnly } from '../mikro/session.ts';
import { readSizes } from './collection-size.ts';
import { checkFields } from './check-fields.ts';
import { readChildRows } from './children.ts';
import { readJoined } from './joined-children.ts';
import { MONGO_ERRORS } from './database-errors.ts';
import { readGroups } from './groups.ts';
import { withRelatedKeys } from './related-keys.ts';
import { countRows, pageSource, readRows } from './read-command.ts';
import { lockRecords } from './record-lock.ts';
import { insertDocument, mayBeReferredTo, removeDocument, updateDocument } from './write-document.ts';

/** The backend for MongoDB: compiles conditions and queries to commands, and runs them. */
export class MongoBackend extends ReadingBackend<Question> {
  readonly name = 'MongoDB';
  readonly errors = MONGO_ERRORS;
  readonly hasSavepoints = false;

  override checkEntity(meta: EntityMetadata): void {
    super.checkEntity(meta);
    if (meta.view === true) {
      throw new ImproperlyConfigured(`${meta.className} is not supported: MongoDB has no view entities`);
    }
    checkFields(meta);
  }

  async start(orm: MikroORM): Promise<readonly StartWarning[]> {
    await requireReplicaSet(orm);
    await readSizes(orm);
    return (await missingIndexes(orm)).map(({ collection, fields }) => ({
      details: { collection, fields },
      message:
        `"${fields.join(', ')}" of the collection "${collection}" has no unique index, so that one value may be stored any number of times; ` +
        'orm.schema.update() makes it',
    }));
  }

  markRollbackOnly(em: EntityManager, problem: () => Error): Promise<void> {
    return markRollbackOnly(em, problem);
  }

  /** The driver keeps a session until it is ended. */
  async releaseTransaction(transaction: object): Promise<void> {
    await (transaction as MongoSession).endSession();
  }

  insert<Record>(write: RowWrite<Record> & { readonly data: object }): Promise<Record> {
    return insertDocument(write);
  }

  update<Record>(
    write: RowWrite<Record> & { readonly data: object; readonly condition: Condition },
  ): Promise<Record | undefined> {
    return updateDocument(write);
  }

  remove(write: Omit<RowWrite<unknown>, 'projection'> & { readonly condition: Condition }): Promise<boolean> {
    return removeDocument(write);
  }

  removalReasons(em: EntityManager, meta: EntityMetadata): readonly string[] {
    if (!mayBeReferredTo(em, meta)) return [];
    return [`records may refer to ${meta.className}: MongoDB looks for them in the transaction that deletes one`];
  }

  /** MongoDB has no triggers that change written values. */
  tablesWithTriggers(): Promise<ReadonlySet<string>> {
    return Promise.resolve(new Set<string>());
  }

  /** MongoDB has unique indexes alone. It enforces no other constraint that an entity declares. */
  override async unknownConstraints(
    orm: MikroORM,
    names: readonly string[],
    declared: ReadonlySet<string>,
  ): Promise<readonly string[]> {
    const others = names.filter((name) => !declared.has(name));
    if (others.length === 0) return [];
    const known = await indexNames(orm);
    return others.filter((name) => !known.has(name));
  }

  protected questionOf(visible: Visible, query: Query): Question {
    return { ...visible, query };
  }

  protected async readRows(question: Question, select: Select): Promise<unknown[][]> {
    if (select.locked === true) await lockRecords(question, select.slice);
    return readRows(question, select);
  }

  protected readJoined(
    question: Question,
    columns: readonly FieldPath[],
    key: Condition,
    joined: JoinedChildren<Question>,
  ): Promise<RecordWithChildren | undefined> {
    return readJoined(question, columns, key, joined);
  }

  protected async readPage(
    question: Question,
    reading: Reading<unknown>,
    slice: Slice | undefined,
    counting: Counting,
  ): Promise<RowPage> {
    return readPage(pageSource(await withRelatedKeys(question, true), reading), slice, counting);
  }

  protected countRows(question: Question): Promise<number> {
    return countRows(question);
  }

  protected readGroups(question: Question, grouping: Grouping): Promise<Group[]> {
    return readGroups(question, grouping);
  }

  protected readChildRows(
    question: Question,
    related: RelatedProjection,
    { columns, entityColumns }: Reading<unknown>,
    keys: readonly unknown[],
  ): Promise<unknown[][]> {
    return readChildRows(question, related, columns, entityColumns, keys);
  }
}
