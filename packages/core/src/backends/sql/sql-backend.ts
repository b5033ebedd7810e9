import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import { type Awaitable, whenReady } from '../../awaitable.ts';
import { ImproperlyConfigured } from '../../errors.ts';
import { fieldPath } from '../../fields/field-path.ts';
import { asksForOne, type Condition, isNever } from '../../language/condition.ts';
import { primaryKey } from '../../language/order.ts';
import type { Projection } from '../../language/projection.ts';
import type { Counting, Page, Query } from '../../language/query.ts';
import { dispatchOnLoad } from '../../mikro/entities.ts';
import { type Backend, type EntityOptions, type Inserted, notStored, type RowWrite } from '../backend.ts';
import { withFilters } from '../entity-filters.ts';
import { managerOf, type Source } from '../source.ts';
import type { Dialect } from './dialects/dialect.ts';
import { checkEntity, type EntityPlan, makeEntityPlan } from './entity-plan.ts';
import { type Hydration, hydrationOf } from './hydration.ts';
import { readPage } from './page.ts';
import { joinedSelections, selectionOf, type Selection } from './selection.ts';
import { bindSelect, type Question, type Select } from './statement.ts';
import { type Assignment, bindWrite, type Write } from './write-statement.ts';

/** SQLite and PostgreSQL: compiles what the language says to SQL, and runs it. */
export class SqlBackend implements Backend {
  readonly name: string;
  readonly #dialect: Dialect;
  /** By the schema of the tables that name none, which each entity manager may choose. */
  readonly #plans = new WeakMap<EntityMetadata, Map<string, EntityPlan>>();

  constructor(dialect: Dialect) {
    this.name = dialect.name;
    this.#dialect = dialect;
  }

  checkEntity(meta: EntityMetadata): void {
    checkEntity(meta);
  }

  rows<Record>(source: Source, query: Query, projection: Projection<Record>): Awaitable<Record[]> {
    const reading = readingOf(source, query, projection);
    return this.#ask(reading.source, query, selectRows(query, reading.columns), [], (question) =>
      whenReady(this.#read(question), (rows) => recordsOf(question.em, rows, projection, reading.hydration)),
    );
  }

  page<Record>(
    source: Source,
    query: Query,
    projection: Projection<Record>,
    counting: Counting,
  ): Awaitable<Page<Record, number | null>> {
    const reading = readingOf(source, query, projection);
    const none = { rows: [], count: counting === 'none' ? null : 0, next: false };
    const select = { ...selectOne(query, reading.columns), order: query.order.total, slice: query.slice, one: false };
    return this.#ask<Page<Record, number | null>>(reading.source, query, select, none, (question) =>
      whenReady(readPage(question, counting), ({ rows, count, next }) =>
        whenReady(recordsOf(question.em, rows, projection, reading.hydration), (records) => {
          return { rows: records, count, next };
        }),
      ),
    );
  }

  count(source: Source, query: Query): Awaitable<number> {
    return this.#ask(source, query, selectOne(query, 'count'), 0, (question) =>
      whenReady(this.#read(question), ([row]) => Number(row?.[0])),
    );
  }

  exists(source: Source, query: Query): Awaitable<boolean> {
    const select = { ...selectOne(query, 'exists'), slice: { offset: 0, limit: 1 } };
    return this.#ask(source, query, select, false, (question) =>
      whenReady(this.#read(question), (rows) => rows.length > 0),
    );
  }

  async entities(em: EntityManager, query: Query, { populate = [], lock = false }: EntityOptions): Promise<object[]> {
    if (lock && !em.isInTransaction()) {
      throw new ImproperlyConfigured(
        `${query.meta.className}: lock needs a transaction, outside of which it would end at once`,
      );
    }
    const { selection, map } = hydrationOf(query.meta, populate);
    const select = { ...selectRows(query, selection), locked: lock };
    const rows = await this.#ask(em, query, select, [], (question) => this.#read(question));
    const entities = rows.map((row) => map(em, row));
    await dispatchOnLoad(em);
    return entities;
  }

  insert<Record>(write: RowWrite<Record> & { readonly data: object }): Awaitable<Inserted<Record>> {
    const { meta, projection } = write;
    const pk = primaryKey(meta);
    const shown = projection.paths.indexOf(pk);
    const own = selectionOf(projection);
    const returning = shown === -1 ? joinedSelections(own, selectionOfKey(meta)) : own;
    const assignments = assignmentsOf(meta, write.data);
    const written = this.#write(write, { kind: 'insert', assignments, condition: undefined, returning });
    return whenReady(written, ([row]) => {
      if (row === undefined) throw notStored(meta);
      return { pk: row[shown === -1 ? own.paths.length : shown], record: projection.readRow(row) };
    });
  }

  update<Record>(
    write: RowWrite<Record> & { readonly data: object; readonly condition: Condition },
  ): Awaitable<Record | undefined> {
    const { meta, projection, condition } = write;
    const assignments = assignmentsOf(meta, write.data);
    const returning = selectionOf(projection);
    return whenReady(this.#write(write, { kind: 'update', assignments, condition, returning }), ([row]) =>
      row === undefined ? undefined : projection.readRow(row),
    );
  }

  remove(write: Omit<RowWrite<unknown>, 'projection'> & { readonly condition: Condition }): Awaitable<boolean> {
    const { meta, condition } = write;
    const removed = this.#write(write, { kind: 'delete', assignments: [], condition, returning: selectionOfKey(meta) });
    return whenReady(removed, (rows) => rows.length > 0);
  }

  async tablesWithTriggers(em: EntityManager): Promise<ReadonlySet<string>> {
    const statement = { sql: this.#dialect.triggers, one: false, isShapedByClient: false };
    const rows = await this.#dialect.read(em, (reader) => reader.rows(statement, []));
    return new Set(rows.map(([table]) => String(table).toLowerCase()));
  }

  /** Asks a question of the records that may be seen; if there can be none, `none` is the answer. */
  #ask<Answer>(
    source: Source,
    query: Query,
    select: Select,
    none: Answer,
    read: (question: Question) => Awaitable<Answer>,
  ): Awaitable<Answer> {
    const { meta, condition } = query;
    if (isNever(condition) || select.slice?.limit === 0) return none;
    const { columns, order } = select;
    const paths = typeof columns === 'string' ? [] : columns.paths;
    return whenReady(withFilters(source, { meta, condition, order, paths }), ({ em, condition: visible, related }) =>
      read({ em, plan: this.#planOf(em, meta), select: { ...select, condition: visible, related } }),
    );
  }

  #read(question: Question): Awaitable<unknown[][]> {
    const { statement, values } = bindSelect(question);
    return this.#dialect.read(question.em, (reader) => reader.rows(statement, values));
  }

  #write({ em, meta, guard }: Omit<RowWrite<unknown>, 'projection'>, write: Write): Awaitable<unknown[][]> {
    const { statement, values } = bindWrite(em, this.#planOf(em, meta), write);
    return this.#dialect.write(em, (reader) => {
      guard?.check();
      return reader.rows(statement, values, guard);
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

/** The columns that records take: their own, behind those of the entity if they are made of entities. */
interface Reading {
  readonly columns: Selection;
  /** Entities belong to an entity manager of their own. */
  readonly source: Source;
  readonly hydration: Hydration | undefined;
}

function readingOf(source: Source, { meta }: Query, projection: Projection<unknown>): Reading {
  const own = selectionOf(projection);
  if (projection.ofEntities !== true) return { columns: own, source, hydration: undefined };
  const hydration = hydrationOf(meta, projection.populate);
  return { columns: joinedSelections(hydration.selection, own), source: managerOf(source), hydration };
}

function selectOne({ condition, isShapedByClient }: Query, columns: Select['columns']): Select {
  return {
    columns,
    condition,
    order: [],
    slice: undefined,
    related: undefined,
    counted: false,
    locked: false,
    one: true,
    isShapedByClient,
  };
}

/** Among one record there is no order, and no second one. */
function selectRows(query: Query, columns: Selection): Select {
  const { slice, meta, condition, order } = query;
  const select = selectOne(query, columns);
  const isOne = slice?.limit === 1;
  if (isOne && slice.offset === 0 && asksForOne(condition, primaryKey(meta))) return select;
  return { ...select, order: order.total, slice, one: isOne };
}

/** Makes records of rows: of their columns, or of the entities that these hold, with the columns behind. */
function recordsOf<Record>(
  em: EntityManager,
  rows: readonly unknown[][],
  projection: Projection<Record>,
  hydration: Hydration | undefined,
): Awaitable<Record[]> {
  if (hydration === undefined) return rows.map((row) => projection.readRow(row));
  const width = hydration.selection.paths.length;
  const entities = rows.map((row) => hydration.map(em, row));
  return dispatchOnLoad(em).then(() =>
    entities.map((entity, index) => projection.readEntity(entity, rows[index]?.slice(width))),
  );
}

function selectionOfKey(meta: EntityMetadata): Selection {
  const pk = primaryKey(meta);
  return { key: pk.key, paths: [pk] };
}

function assignmentsOf(meta: EntityMetadata, data: object): Assignment[] {
  const assignments: Assignment[] = [];
  for (const [name, value] of Object.entries(data) as [string, unknown][]) {
    if (value !== undefined) assignments.push({ path: fieldPath(meta, name, '.'), value });
  }
  return assignments;
}
