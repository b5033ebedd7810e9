import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import type { Condition } from '../../language/condition.ts';
import type { RelatedProjection } from '../../language/projection.ts';
import type { Counting, Query, Slice } from '../../language/query.ts';
import { isLostRace } from '../../mikro/mongo-session.ts';
import type { RowWrite } from '../backend.ts';
import type { Visible } from '../entity-filters.ts';
import { readPage, type RowPage } from '../page.ts';
import type { Question, Select } from '../question.ts';
import { ReadingBackend } from '../reading-backend.ts';
import type { Reading } from '../reading.ts';
import { checkFields } from './check-fields.ts';
import { readChildRows } from './children.ts';
import { countRows, pageSource, readRows } from './read-command.ts';
import { ImproperlyConfigured } from '../../errors.ts';
import { lockRecords } from './record-lock.ts';
import { insertDocument, mayBeReferredTo, removeDocument, updateDocument } from './write-document.ts';

/** MongoDB: makes commands of what the language says, and runs them. */
export class MongoBackend extends ReadingBackend<Question> {
  readonly name = 'MongoDB';
  readonly hasSavepoints = false;

  override checkEntity(meta: EntityMetadata): void {
    super.checkEntity(meta);
    if (meta.view === true) {
      throw new ImproperlyConfigured(`${meta.className} is not supported: MongoDB has no view entities`);
    }
    checkFields(meta);
  }

  isLostRace(error: unknown): boolean {
    return isLostRace(error);
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

  /** MongoDB has no triggers that change what was written. */
  tablesWithTriggers(): Promise<ReadonlySet<string>> {
    return Promise.resolve(new Set<string>());
  }

  protected questionOf(visible: Visible, query: Query): Question {
    return { ...visible, query };
  }

  protected async readRows(question: Question, select: Select): Promise<unknown[][]> {
    if (select.locked === true) await lockRecords(question, select.slice);
    return readRows(question, select);
  }

  protected async readPage(
    question: Question,
    reading: Reading<unknown>,
    slice: Slice | undefined,
    counting: Counting,
  ): Promise<RowPage> {
    return readPage(pageSource(question, reading), slice, counting);
  }

  protected countRows(question: Question): Promise<number> {
    return countRows(question);
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
