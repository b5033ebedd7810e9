import type { ColumnDifference } from '../mikro/column-differences.ts';
import type { Warn } from '../mikro/replicas.ts';
import type { EntityManager, EntityMetadata, MikroORM } from '@mikro-orm/core';
import { type Awaitable, whenReady } from '../support/awaitable.ts';
import type { FieldPath } from '../fields/field-path.ts';
import { compare } from '../query/language/compare.ts';
import { comparesOneKey, type Condition } from '../query/language/condition.ts';
import { primaryKey } from '../fields/primary-key.ts';
import { type Group, type Grouping, pathsOf } from '../query/language/grouping.ts';
import { noOrder } from '../query/language/order.ts';
import type { Projection, RelatedProjection } from '../query/language/projection.ts';
import { matchesNothing, type Counting, type Page, type Query, type Slice } from '../query/language/query.ts';
import { dispatchOnLoad } from '../mikro/entities.ts';
import { relationFilters } from '../mikro/filters.ts';
import type { Backend, EntityOptions, RowWrite, StartWarning } from './backend.ts';
import { checkEntity } from './check-entity.ts';
import type { DatabaseErrors, PlacedViolation, Violation } from './database-errors.ts';
import { type Visible, withFilters } from './entity-filters.ts';
import { hydrationOf } from './hydration.ts';
import type { JoinedChildren, RecordWithChildren } from './joined-children.ts';
import type { RowPage } from './page.ts';
import { NO_COLUMNS, type Question, type Select } from './question.ts';
import {
  childrenByOwner,
  loadRelated,
  type ReadChildren,
  type Reading,
  readingOf,
  type ReadAggregates,
  type RelatedReaders,
} from './reading.ts';
import { managedSource, managerOf, type Source } from './source.ts';

/**
 * The part of a backend that all databases share. It restricts queries to the visible records. From the rows it makes
 * records and entities, with their children. A kind of database reads rows, and writes.
 */
export abstract class ReadingBackend<ItsQuestion extends Question> implements Backend {
  abstract readonly name: string;
  abstract readonly errors: DatabaseErrors;
  abstract readonly hasSavepoints: boolean;

  abstract start(orm: MikroORM, warn: Warn): Promise<readonly StartWarning[]>;
  abstract markRollbackOnly(em: EntityManager, problem: () => Error): Promise<void>;
  abstract releaseTransaction(transaction: object): Promise<void>;
  abstract insert<Record>(write: RowWrite<Record> & { readonly data: object }): Awaitable<Record>;
  abstract update<Record>(
    write: RowWrite<Record> & { readonly data: object; readonly condition: Condition },
  ): Awaitable<Record | undefined>;
  abstract remove(write: Omit<RowWrite<unknown>, 'projection'> & { readonly condition: Condition }): Awaitable<boolean>;
  abstract removalReasons(em: EntityManager, meta: EntityMetadata): readonly string[];
  abstract tablesWithTriggers(em: EntityManager): Promise<ReadonlySet<string>>;

  /** By default the database makes what it lacks. */
  missingPart(_em: EntityManager, _meta: EntityMetadata): Promise<string | undefined> {
    return Promise.resolve(undefined);
  }

  /** By default there are no columns. */
  differingColumns(_orm: MikroORM): Promise<readonly ColumnDifference[]> {
    return Promise.resolve([]);
  }

  /** By default nothing is known about constraints. */
  unknownConstraints(
    _orm: MikroORM,
    _names: readonly string[],
    _declared: ReadonlySet<string>,
  ): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  /** By default the violated table is the entity's. */
  placeViolation(
    _em: EntityManager,
    { table, columns }: Violation,
    metas: readonly EntityMetadata[],
  ): Awaitable<PlacedViolation> {
    return { columns, metas: new Set(metas.filter(({ tableName }) => table === undefined || table === tableName)) };
  }

  /** Adds the data that this kind of database needs for a question. */
  protected abstract questionOf(visible: Visible, query: Query): ItsQuestion;
  protected abstract readRows(question: ItsQuestion, select: Select): Awaitable<unknown[][]>;
  /** Reads a record and its children of one relation with one command. Undefined if the record does not exist. */
  protected abstract readJoined(
    question: ItsQuestion,
    columns: readonly FieldPath[],
    key: Condition,
    joined: JoinedChildren<ItsQuestion>,
  ): Awaitable<RecordWithChildren | undefined>;
  protected abstract readPage(
    question: ItsQuestion,
    reading: Reading<unknown>,
    slice: Slice | undefined,
    counting: Counting,
  ): Awaitable<RowPage>;
  protected abstract countRows(question: ItsQuestion): Awaitable<number>;
  protected abstract readGroups(question: ItsQuestion, grouping: Grouping): Awaitable<Group[]>;
  /**
   * Reads the children of several records with one command, in order. Each row has the owner's key after its columns.
   *
   * @param keys the owners' keys, in the entities' form
   */
  protected abstract readChildRows(
    question: ItsQuestion,
    related: RelatedProjection,
    reading: Reading<unknown>,
    keys: readonly unknown[],
  ): Awaitable<unknown[][]>;

  checkEntity(meta: EntityMetadata): void {
    checkEntity(meta);
  }

  rows<Record>(
    source: Source,
    query: Query,
    slice: Slice | undefined,
    projection: Projection<Record>,
  ): Awaitable<Record[]> {
    if (matchesNothing(query, slice)) return [];
    const reading = readingOf(query, projection);
    return this.#records(source, query, reading, selectRows(query, slice, reading));
  }

  find<Record>(
    source: Source,
    query: Query,
    key: Condition,
    projection: Projection<Record>,
  ): Awaitable<Record | undefined> {
    if (matchesNothing(query, undefined, key)) return undefined;
    const reading = readingOf(query, projection);
    const joined = projection.related?.find((related) => related.joined);
    if (joined !== undefined) return this.#findJoined(source, query, key, reading, joined);
    const { columns, entityColumns } = reading;
    const records = this.#records(source, query, reading, { columns, entityColumns, key, one: true });
    return whenReady(records, ([record]) => record);
  }

  page<Record>(
    source: Source,
    query: Query,
    slice: Slice | undefined,
    projection: Projection<Record>,
    counting: Counting,
  ): Awaitable<Page<Record, number | null>> {
    if (matchesNothing(query, slice)) return { rows: [], count: counting === 'none' ? null : 0, next: false };
    const reading = readingOf(query, projection);
    return whenReady(this.#ask(reading.sourceOf(source), query, reading.columns), (question) =>
      whenReady(this.readPage(question, reading, slice, counting), ({ rows, count, next }) =>
        whenReady(reading.recordsOf(rows, this.#readersOf(question, source)), (records) => {
          return { rows: records, count, next };
        }),
      ),
    );
  }

  count(source: Source, query: Query): Awaitable<number> {
    if (matchesNothing(query)) return 0;
    return whenReady(this.#ask(source, query, NO_COLUMNS), (question) => this.countRows(question));
  }

  groups(source: Source, query: Query, grouping: Grouping): Awaitable<Group[]> {
    if (matchesNothing(query)) return [];
    return whenReady(this.#ask(source, query, pathsOf(grouping)), (question) => this.readGroups(question, grouping));
  }

  exists(source: Source, query: Query): Awaitable<boolean> {
    if (matchesNothing(query)) return false;
    const select = { columns: NO_COLUMNS, entityColumns: 0, slice: FIRST, one: true };
    return whenReady(this.#ask(source, query, NO_COLUMNS), (question) =>
      whenReady(this.readRows(question, select), (rows) => rows.length > 0),
    );
  }

  async entities(
    source: Source,
    query: Query,
    slice: Slice | undefined,
    { populate = [], lock = false }: EntityOptions,
  ): Promise<object[]> {
    const { paths, map } = hydrationOf(query.meta, populate);
    if (matchesNothing(query, slice)) return [];
    const managed = managedSource(source);
    const question = await this.#ask(managed, query, paths);
    const select = selectRows(query, slice, { columns: paths, entityColumns: paths.length });
    const rows = await this.readRows(question, { ...select, locked: lock });
    const entities = rows.map((row) => map(managed.em, row));
    await dispatchOnLoad(managed.em);
    return entities;
  }

  storedValues(
    source: Source,
    query: Query,
    path: FieldPath,
    values: readonly unknown[],
  ): Awaitable<ReadonlyMap<unknown, unknown>> {
    return whenReady(this.#ask(source, query, [path]), (question) => this.readStoredValues(question, path, values));
  }

  /** By default, only identical values are equal. */
  protected readStoredValues(
    _question: ItsQuestion,
    _path: FieldPath,
    values: readonly unknown[],
  ): Awaitable<ReadonlyMap<unknown, unknown>> {
    return new Map(values.map((value) => [value, value]));
  }

  loadRelated(source: Source, entities: readonly object[], projection: Projection<unknown>): Promise<void> {
    return loadRelated(this.#relatedReaders(managerOf(source), source, undefined), projection, entities);
  }

  #records<Record>(source: Source, query: Query, reading: Reading<Record>, select: Select): Awaitable<Record[]> {
    return whenReady(this.#ask(reading.sourceOf(source), query, reading.columns), (question) =>
      whenReady(this.readRows(question, select), (rows) => reading.recordsOf(rows, this.#readersOf(question, source))),
    );
  }

  /** Finds a record and its children of one relation. */
  #findJoined<Record>(
    source: Source,
    query: Query,
    key: Condition,
    reading: Reading<Record>,
    related: RelatedProjection,
  ): Awaitable<Record | undefined> {
    const { columns } = reading;
    const ofChildren = this.#childrenOf(related, query.filters);
    return whenReady(this.#ask(source, query, columns), (question) =>
      whenReady(this.#ask(source, ofChildren.query, ofChildren.reading.columns), (childQuestion) => {
        const joined = { related, question: childQuestion, columns: ofChildren.reading.columns };
        return whenReady(this.readJoined(question, columns, key, joined), (found) => {
          if (found === undefined) return undefined;
          const readers = this.#readersOf(question, source)();
          const readChildren: ReadChildren = (one, keys) => {
            if (one !== related) return readers.readChildren(one, keys);
            const children = ofChildren.reading.recordsOf(found.children, this.#readersOf(childQuestion, source));
            return whenReady(children, (records) => new Map([[keys[0], records]]));
          };
          const records = reading.recordsOf([found.row], () => ({ ...readers, readChildren }));
          return whenReady(records, ([record]) => record);
        });
      }),
    );
  }

  /** Makes the question for the visible records of a query. */
  #ask(source: Source, query: Query, paths: readonly FieldPath[]): Awaitable<ItsQuestion> {
    return whenReady(withFilters(source, query, paths), (visible) => this.questionOf(visible, query));
  }

  #readersOf({ em, query }: Question, source: Source): () => RelatedReaders {
    return () => this.#relatedReaders(em, source, query.filters);
  }

  #relatedReaders(em: EntityManager, source: Source, filters: Query['filters']): RelatedReaders {
    return {
      em,
      readChildren: this.#childrenReader(source, filters),
      readAggregates: this.#aggregatesReader(source, filters),
    };
  }

  /**
   * Makes the function that reads values from related records for entities. Filters have already been applied to the
   * entities.
   */
  #aggregatesReader(source: Source, filters: Query['filters']): ReadAggregates {
    return (aggregates, keys) => {
      const { root: meta } = aggregates[0]!.related;
      const key = primaryKey(meta);
      const condition = compare(key, 'in', keys);
      const query: Query = { meta, condition, order: noOrder(meta), author: 'code', filters, isLoaded: true };
      const columns = [...aggregates, key];
      return whenReady(this.#ask(source, query, columns), (question) =>
        this.readRows(question, { columns, entityColumns: 0 }),
      );
    };
  }

  #childrenOf(
    { relation, projection, query }: RelatedProjection,
    ofQuery: Query['filters'],
  ): { readonly query: Query; readonly reading: Reading<unknown> } {
    const filters = relationFilters(relation, ofQuery);
    const filtered = filters === undefined ? query : { ...query, filters };
    return { query: filtered, reading: readingOf(filtered, projection) };
  }

  /**
   * Makes the function that reads the children of a query's records. The filters of the query apply to the children
   * too.
   */
  #childrenReader(source: Source, ofQuery: Query['filters']): ReadChildren {
    return (related, keys) => {
      const { query, reading } = this.#childrenOf(related, ofQuery);
      return whenReady(this.#ask(source, query, reading.columns), (question) =>
        whenReady(this.readChildRows(question, related, reading, keys), (rows) =>
          whenReady(reading.recordsOf(rows, this.#readersOf(question, source)), (children) =>
            childrenByOwner(related, reading.columns.length, rows, children),
          ),
        ),
      );
    };
  }
}

const FIRST: Slice = Object.freeze({ offset: 0, limit: 1 });

/** A single record needs no order and no slice. */
function selectRows(
  { meta, condition }: Query,
  slice: Slice | undefined,
  { columns, entityColumns }: Pick<Select, 'columns' | 'entityColumns'>,
): Select {
  const one = slice?.limit === 1;
  if (one && slice.offset === 0 && comparesOneKey(condition, primaryKey(meta))) return { columns, entityColumns, one };
  return { columns, entityColumns, slice, ordered: true, one };
}
