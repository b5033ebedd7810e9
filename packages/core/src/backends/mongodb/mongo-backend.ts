import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import { type Awaitable, whenReady } from '../../awaitable.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import { asksForOne, type Condition } from '../../language/condition.ts';
import { primaryKey } from '../../language/order.ts';
import type { Projection } from '../../language/projection.ts';
import { asksNothing, type Counting, type Page, type Query, type Slice } from '../../language/query.ts';
import { dispatchOnLoad } from '../../mikro/entities.ts';
import { relationFilters } from '../../mikro/filters.ts';
import type { Backend, EntityOptions, RowWrite } from '../backend.ts';
import { checkEntity } from '../check-entity.ts';
import { withFilters } from '../entity-filters.ts';
import { hydrationOf } from '../hydration.ts';
import { readPage } from '../page.ts';
import {
  childrenByOwner,
  loadChildren,
  type ReadChildren,
  type Reading,
  readingOf,
  type RowsRead,
} from '../reading.ts';
import { isLostRace } from '../../mikro/mongo-session.ts';
import type { Source } from '../source.ts';
import { checkFields } from './check-fields.ts';
import { readChildRows } from './children.ts';
import type { Question } from './question.ts';
import { lockRecords } from './record-lock.ts';
import { countRows, estimateRows, readRows, type Select } from './read-command.ts';
import { insertDocument, removeDocument, updateDocument } from './write-document.ts';

/** MongoDB: makes commands of what the language says, and runs them. */
export class MongoBackend implements Backend {
  readonly name = 'MongoDB';
  readonly hasSavepoints = false;

  checkEntity(meta: EntityMetadata): void {
    checkEntity(meta);
    checkFields(meta);
  }

  rows<Record>(
    source: Source,
    query: Query,
    slice: Slice | undefined,
    projection: Projection<Record>,
  ): Awaitable<Record[]> {
    if (asksNothing(query, slice)) return [];
    const reading = readingOf(query, projection);
    return whenReady(this.#ask(reading.sourceOf(source), query, reading.columns), (question) =>
      this.#records(question, source, reading, selectRows(query, slice, reading)),
    );
  }

  find<Record>(
    source: Source,
    query: Query,
    key: Condition,
    projection: Projection<Record>,
  ): Awaitable<Record | undefined> {
    if (asksNothing(query, undefined, key)) return undefined;
    const reading = readingOf(query, projection);
    const slice = { offset: 0, limit: 1 };
    const records = whenReady(this.#ask(reading.sourceOf(source), query, reading.columns), (question) =>
      this.#records(question, source, reading, { ...reading, key, slice, ordered: false }),
    );
    return whenReady(records, ([record]) => record);
  }

  page<Record>(
    source: Source,
    query: Query,
    slice: Slice | undefined,
    projection: Projection<Record>,
    counting: Counting,
  ): Awaitable<Page<Record, number | null>> {
    if (asksNothing(query, slice)) return { rows: [], count: counting === 'none' ? null : 0, next: false };
    const reading = readingOf(query, projection);
    return whenReady(this.#ask(reading.sourceOf(source), query, reading.columns), async (question) => {
      const reads = {
        countsInline: false,
        rows: (part: Slice | undefined) => readRows(question, { ...reading, slice: part, ordered: true }),
        count: () => countRows(question),
        estimate: () => estimateRows(question),
      };
      const { rows, count, next } = await readPage(reads, slice, counting);
      return { rows: await reading.recordsOf(this.#rowsRead(question, source, rows)), count, next };
    });
  }

  count(source: Source, query: Query): Awaitable<number> {
    if (asksNothing(query)) return 0;
    return whenReady(this.#ask(source, query, NO_COLUMNS), countRows);
  }

  exists(source: Source, query: Query): Awaitable<boolean> {
    if (asksNothing(query)) return false;
    const select = { columns: NO_COLUMNS, entityColumns: 0, slice: { offset: 0, limit: 1 }, ordered: false };
    return whenReady(this.#ask(source, query, NO_COLUMNS), async (question) => {
      return (await readRows(question, select)).length > 0;
    });
  }

  async entities(
    em: EntityManager,
    query: Query,
    slice: Slice | undefined,
    { populate = [], lock = false }: EntityOptions,
  ): Promise<object[]> {
    const { paths, map } = hydrationOf(query.meta, populate);
    if (asksNothing(query, slice)) return [];
    const question = await this.#ask(em, query, paths);
    if (lock) await lockRecords(question, slice);
    const rows = await readRows(question, selectRows(query, slice, { columns: paths, entityColumns: paths.length }));
    const entities = rows.map((row) => map(em, row));
    await dispatchOnLoad(em);
    return entities;
  }

  loadChildren(source: Source, entities: readonly object[], projection: Projection<unknown>): Promise<void> {
    return loadChildren(this.#childrenReader(source, undefined), projection, entities);
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

  isLostRace(error: unknown): boolean {
    return isLostRace(error);
  }

  /** MongoDB has no triggers that change what was written. */
  tablesWithTriggers(): Promise<ReadonlySet<string>> {
    return Promise.resolve(new Set<string>());
  }

  /** Asks about the records of a query that may be seen. */
  #ask(source: Source, query: Query, paths: readonly FieldPath[]): Awaitable<Question> {
    return whenReady(withFilters(source, query, paths), ({ em, condition, related }) => {
      return { em, query, condition, related };
    });
  }

  async #records<Record>(
    question: Question,
    source: Source,
    reading: Reading<Record>,
    select: Select,
  ): Promise<Record[]> {
    const rows = await readRows(question, select);
    return reading.recordsOf(this.#rowsRead(question, source, rows));
  }

  #rowsRead({ em, query }: Question, source: Source, rows: readonly unknown[][]): RowsRead {
    return { em, rows, readChildren: this.#childrenReader(source, query.filters) };
  }

  /** Makes the reading of children for the records of a query that asks for some filters: its children are asked for them too. */
  #childrenReader(source: Source, ofQuery: Query['filters']): ReadChildren {
    return async (related, keys) => {
      const { relation, projection } = related;
      const filters = relationFilters(relation, ofQuery);
      const query = filters === undefined ? related.query : { ...related.query, filters };
      const { columns, entityColumns, recordsOf } = readingOf(query, projection);
      const question = await this.#ask(source, query, columns);
      const rows = await readChildRows(question, related, columns, entityColumns, keys);
      const children = await recordsOf(this.#rowsRead(question, source, rows));
      return childrenByOwner(related, columns.length, rows, children);
    };
  }
}

const NO_COLUMNS: readonly FieldPath[] = Object.freeze([]);

/** Among one record there is no order. */
function selectRows(
  { meta, condition }: Query,
  slice: Slice | undefined,
  { columns, entityColumns }: Pick<Select, 'columns' | 'entityColumns'>,
): Select {
  const one = slice?.limit === 1 && slice.offset === 0 && asksForOne(condition, primaryKey(meta));
  return { columns, entityColumns, slice, ordered: !one };
}
