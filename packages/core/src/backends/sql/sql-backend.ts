import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import { type Awaitable, whenReady } from '../../awaitable.ts';
import { checkNotGivenUp } from '../../given-up.ts';
import { type FieldPath, fieldPath } from '../../fields/field-path.ts';
import { asksForOne, type Condition } from '../../language/condition.ts';
import { primaryKey } from '../../language/order.ts';
import type { Projection } from '../../language/projection.ts';
import { asksNothing, type Counting, type Page, type Query, type Slice } from '../../language/query.ts';
import { dispatchOnLoad } from '../../mikro/entities.ts';
import { relationFilters } from '../../mikro/filters.ts';
import { type Backend, type EntityOptions, notStored, type RowWrite } from '../backend.ts';
import { checkEntity } from '../check-entity.ts';
import { withFilters } from '../entity-filters.ts';
import { hydrationOf } from '../hydration.ts';
import { readPage, type RowPage } from '../page.ts';
import { childrenByOwner, loadChildren, type ReadChildren, readingOf, type RowsRead } from '../reading.ts';
import type { Source } from '../source.ts';
import type { Dialect } from './dialects/dialect.ts';
import { type EntityPlan, makeEntityPlan } from './entity-plan.ts';
import { bindChildren } from './children-statement.ts';
import { countRows, pageSource } from './page-source.ts';
import { bindSelect, EXISTS, type Question, type Select } from './statement.ts';
import { type Assignment, bindWrite, type Write } from './write-statement.ts';

/** SQLite and PostgreSQL: compiles what the language says to SQL, and runs it. */
export class SqlBackend implements Backend {
  readonly name: string;
  readonly hasSavepoints = true;
  readonly #dialect: Dialect;
  /** By the schema of the tables that name none, which each entity manager may choose. */
  readonly #plans = new WeakMap<EntityMetadata, Map<string, EntityPlan>>();

  constructor(dialect: Dialect) {
    this.name = dialect.name;
    this.#dialect = dialect;
  }

  isLostRace(): boolean {
    return false;
  }

  checkEntity(meta: EntityMetadata): void {
    checkEntity(meta);
  }

  rows<Record>(
    source: Source,
    query: Query,
    slice: Slice | undefined,
    projection: Projection<Record>,
  ): Awaitable<Record[]> {
    if (asksNothing(query, slice)) return [];
    const { columns, sourceOf, recordsOf } = readingOf(query, projection);
    const select = selectRows(query, slice, columns);
    return whenReady(this.#ask(sourceOf(source), query, columns), (question) =>
      whenReady(this.#read(question, select), (rows) => recordsOf(this.#rowsRead(question, source, rows))),
    );
  }

  find<Record>(
    source: Source,
    query: Query,
    key: Condition,
    projection: Projection<Record>,
  ): Awaitable<Record | undefined> {
    if (asksNothing(query, undefined, key)) return undefined;
    const { columns, sourceOf, recordsOf } = readingOf(query, projection);
    const records = whenReady(this.#ask(sourceOf(source), query, columns), (question) =>
      whenReady(this.#read(question, { columns, key, one: true }), (rows) =>
        recordsOf(this.#rowsRead(question, source, rows)),
      ),
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
    const { columns, sourceOf, recordsOf } = readingOf(query, projection);
    return whenReady(this.#ask(sourceOf(source), query, columns), (question) =>
      whenReady(this.#readPage(question, columns, slice, counting), ({ rows, count, next }) =>
        whenReady(recordsOf(this.#rowsRead(question, source, rows)), (records) => ({ rows: records, count, next })),
      ),
    );
  }

  count(source: Source, query: Query): Awaitable<number> {
    if (asksNothing(query)) return 0;
    return whenReady(this.#ask(source, query, NO_COLUMNS), (question) =>
      this.#dialect.read(question.em, (reader) => countRows(question, reader)),
    );
  }

  exists(source: Source, query: Query): Awaitable<boolean> {
    if (asksNothing(query)) return false;
    const select = { columns: EXISTS, slice: { offset: 0, limit: 1 }, one: true };
    return whenReady(this.#ask(source, query, NO_COLUMNS), (question) =>
      whenReady(this.#read(question, select), (rows) => rows.length > 0),
    );
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
    const rows = await this.#read(question, { ...selectRows(query, slice, paths), locked: lock });
    const entities = rows.map((row) => map(em, row));
    await dispatchOnLoad(em);
    return entities;
  }

  loadChildren(source: Source, entities: readonly object[], projection: Projection<unknown>): Promise<void> {
    return loadChildren(this.#childrenReader(source, undefined), projection, entities);
  }

  insert<Record>(write: RowWrite<Record> & { readonly data: object }): Awaitable<Record> {
    const { meta, projection } = write;
    const assignments = assignmentsOf(meta, write.data);
    const returning = projection.paths;
    return whenReady(this.#write(write, { kind: 'insert', assignments, condition: undefined, returning }), ([row]) => {
      if (row === undefined) throw notStored(meta);
      return projection.readRow(row);
    });
  }

  update<Record>(
    write: RowWrite<Record> & { readonly data: object; readonly condition: Condition },
  ): Awaitable<Record | undefined> {
    const { meta, projection, condition } = write;
    const assignments = assignmentsOf(meta, write.data);
    const changed = this.#write(write, { kind: 'update', assignments, condition, returning: projection.paths });
    return whenReady(changed, ([row]) => (row === undefined ? undefined : projection.readRow(row)));
  }

  remove(write: Omit<RowWrite<unknown>, 'projection'> & { readonly condition: Condition }): Awaitable<boolean> {
    const { meta, condition } = write;
    const returning = [primaryKey(meta)];
    const removed = this.#write(write, { kind: 'delete', assignments: [], condition, returning });
    return whenReady(removed, (rows) => rows.length > 0);
  }

  async tablesWithTriggers(em: EntityManager): Promise<ReadonlySet<string>> {
    const statement = { sql: this.#dialect.triggers, one: false, isShapedByClient: false };
    const rows = await this.#dialect.read(em, (reader) => reader.rows(statement, []));
    return new Set(rows.map(([table]) => String(table).toLowerCase()));
  }

  /** Asks about the records of a query that may be seen. */
  #ask(source: Source, query: Query, paths: readonly FieldPath[]): Awaitable<Question> {
    return whenReady(withFilters(source, query, paths), ({ em, condition, related }) => {
      return { em, plan: this.#planOf(em, query.meta), query, condition, related };
    });
  }

  #rowsRead({ em, query }: Question, source: Source, rows: readonly unknown[][]): RowsRead {
    return { em, rows, readChildren: this.#childrenReader(source, query.filters) };
  }

  /** Makes the reading of children for the records of a query that asks for some filters: its children are asked for them too. */
  #childrenReader(source: Source, ofQuery: Query['filters']): ReadChildren {
    return (related, keys) => {
      const { relation, projection } = related;
      const filters = relationFilters(relation, ofQuery);
      const query = filters === undefined ? related.query : { ...related.query, filters };
      const { columns, recordsOf } = readingOf(query, projection);
      return whenReady(this.#ask(source, query, columns), (question) => {
        const { statement, values } = bindChildren(question, related, columns, keys);
        const found = this.#dialect.read(question.em, (reader) => reader.rows(statement, values));
        return whenReady(found, (rows) =>
          whenReady(recordsOf(this.#rowsRead(question, source, rows)), (children) =>
            childrenByOwner(related, columns.length, rows, children),
          ),
        );
      });
    };
  }

  #readPage(
    question: Question,
    columns: readonly FieldPath[],
    slice: Slice | undefined,
    counting: Counting,
  ): Awaitable<RowPage> {
    return this.#dialect.read(question.em, (reader) =>
      readPage(pageSource(question, columns, reader), slice, counting),
    );
  }

  #read(question: Question, select: Select): Awaitable<unknown[][]> {
    const { statement, values } = bindSelect(question, select);
    return this.#dialect.read(question.em, (reader) => reader.rows(statement, values));
  }

  #write({ em, meta, request }: Omit<RowWrite<unknown>, 'projection'>, write: Write): Awaitable<unknown[][]> {
    const { statement, values } = bindWrite(em, this.#planOf(em, meta), write);
    return this.#dialect.write(em, (reader) => {
      checkNotGivenUp(request);
      return reader.rows(statement, values, request);
    });
  }

  #planOf(em: EntityManager, meta: EntityMetadata): EntityPlan {
    let plans = this.#plans.get(meta);
    if (plans === undefined) this.#plans.set(meta, (plans = new Map<string, EntityPlan>()));
    const schema = em.schema ?? em.config.getSchema();
    let plan = plans.get(schema ?? '');
    if (plan === undefined) plans.set(schema ?? '', (plan = makeEntityPlan(em, this.#dialect, meta, schema)));
    return plan;
  }
}

const NO_COLUMNS: readonly FieldPath[] = Object.freeze([]);

/** Among one record there is no order, and no second one. */
function selectRows({ meta, condition }: Query, slice: Slice | undefined, columns: readonly FieldPath[]): Select {
  const one = slice?.limit === 1;
  if (one && slice.offset === 0 && asksForOne(condition, primaryKey(meta))) return { columns, one };
  return { columns, slice, ordered: true, one };
}

function assignmentsOf(meta: EntityMetadata, data: object): Assignment[] {
  const assignments: Assignment[] = [];
  for (const [name, value] of Object.entries(data) as [string, unknown][]) {
    if (value !== undefined) assignments.push({ path: fieldPath(meta, name, '.'), value });
  }
  return assignments;
}
