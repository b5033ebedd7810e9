import {
  type EntityManager,
  type EntityMetadata,
  InvalidFieldNameException,
  type MikroORM,
  TableNotFoundException,
} from '@mikro-orm/core';
import { type Awaitable, whenReady } from '../../support/awaitable.ts';
import { checkNotAborted } from '../../http/abort-state.ts';
import { fieldPath, type FieldPath } from '../../fields/field-path.ts';
import { isEmbeddable, isInlineEmbeddable, isToOne, ownsColumn } from '../../fields/property.ts';
import { valueReader } from '../../fields/value-reader.ts';
import type { Condition } from '../../query/language/condition.ts';
import type { Group, Grouping } from '../../query/language/grouping.ts';
import type { RelatedProjection } from '../../query/language/projection.ts';
import type { Counting, Query, Slice } from '../../query/language/query.ts';
import { type ColumnDifference, columnDifferences } from '../../mikro/column-differences.ts';
import type { Warn } from '../../mikro/replicas.ts';
import { NotStored, type RowWrite } from '../backend.ts';
import type { PlacedViolation, Violation } from '../database-errors.ts';
import type { Visible } from '../entity-filters.ts';
import type { JoinedChildren, RecordWithChildren } from '../joined-children.ts';
import { readPage, type RowPage } from '../page.ts';
import type { Select } from '../question.ts';
import { ReadingBackend } from '../reading-backend.ts';
import type { Reading } from '../reading.ts';
import { type Dialect, quoted } from './dialects/dialect.ts';
import type { Bound } from './dialects/reader.ts';
import { SQL_ERRORS } from './dialects/sql-errors.ts';
import { type EntityPlan, makeEntityPlan, tableOf } from './entity-plan.ts';
import { bindChildren, rowsByKey } from './children-statement.ts';
import { bindGrouping, groupOf } from './grouping-statement.ts';
import { bindJoined, withChildren } from './joined-statement.ts';
import { countRows, pageSource } from './page-source.ts';
import { bindSelect, type SqlQuestion } from './statement.ts';
import { bindStoredValues, mayHoldEqual, placedValues } from './stored-values-statement.ts';
import { type Assignment, bindWrite, type Write } from './write-statement.ts';

/** SQLite, libSQL and PostgreSQL: compiles queries to SQL, and runs them. */
export class SqlBackend extends ReadingBackend<SqlQuestion> {
  readonly name: string;
  readonly errors = SQL_ERRORS;
  readonly hasSavepoints = true;
  readonly #dialect: Dialect;
  /** By the schema of tables without their own schema. Each entity manager may choose it. */
  readonly #plans = new WeakMap<EntityMetadata, Map<string, EntityPlan>>();

  constructor(dialect: Dialect) {
    super();
    this.name = dialect.name;
    this.#dialect = dialect;
  }

  async start(orm: MikroORM, warn: Warn): Promise<[]> {
    await this.#dialect.start(orm, warn);
    return [];
  }

  /** A savepoint rolls back a part of a transaction. */
  async markRollbackOnly(): Promise<void> {}

  /** A transaction holds nothing beyond its end. */
  async releaseTransaction(): Promise<void> {}

  insert<Record>(write: RowWrite<Record> & { readonly data: object }): Awaitable<Record> {
    const { meta, projection } = write;
    const assignments = assignmentsOf(meta, write.data);
    const returning = projection.paths;
    return whenReady(this.#write(write, { kind: 'insert', assignments, condition: undefined, returning }), ([row]) => {
      if (row === undefined) throw new NotStored(meta);
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
    const { em, meta, condition } = write;
    const returning = this.#planOf(em, meta).key;
    const removed = this.#write(write, { kind: 'delete', assignments: [], condition, returning });
    return whenReady(removed, (rows) => rows.length > 0);
  }

  /** The database itself applies the actions of its foreign keys. */
  removalReasons(): readonly string[] {
    return [];
  }

  async tablesWithTriggers(em: EntityManager): Promise<ReadonlySet<string>> {
    const statement = { sql: this.#dialect.triggers, one: false, isShapedByClient: false };
    const rows = await this.#dialect.run(em, 'read', (reader) => reader.rows(statement, []));
    return new Set(rows.map(([table]) => String(table).toLowerCase()));
  }

  override async missingPart(em: EntityManager, meta: EntityMetadata): Promise<string | undefined> {
    const table = tableOf(this.#planOf(em, meta), em, meta);
    const readable = async (columns: string): Promise<boolean> => {
      const statement = { sql: `select ${columns} from ${table.sql} where 1 = 0`, one: false, isShapedByClient: false };
      try {
        await this.#dialect.run(em, 'read', (reader) => reader.rows(statement, []));
        return true;
      } catch (error) {
        if (error instanceof TableNotFoundException || error instanceof InvalidFieldNameException) return false;
        throw error;
      }
    };
    const columns = columnsOf(meta);
    if (await readable(columns.map(quoted).join(', '))) return undefined;
    if (!(await readable('1'))) return `the table "${table.name}"`;
    for (const column of columns) {
      if (!(await readable(quoted(column)))) return `the column "${column}" of the table "${table.name}"`;
    }
    return undefined;
  }

  override differingColumns(orm: MikroORM): Promise<readonly ColumnDifference[]> {
    return columnDifferences(orm);
  }

  override async unknownConstraints({ em }: MikroORM, names: readonly string[]): Promise<readonly string[]> {
    if (names.length === 0) return [];
    return this.#dialect.run(em.fork(), 'read', (reader) => this.#dialect.unknownConstraints(reader, names));
  }

  override placeViolation(
    em: EntityManager,
    violation: Violation,
    metas: readonly EntityMetadata[],
  ): Awaitable<PlacedViolation> {
    const tables = metas.map((meta) => tableOf(this.#planOf(em, meta), em, meta));
    const placed = this.#dialect.run(em, 'read', (reader) => this.#dialect.placeViolation(reader, violation, tables));
    return whenReady(placed, ({ places, columns }) => {
      return { columns, metas: new Set(metas.filter((_, index) => places.has(index))) };
    });
  }

  protected questionOf({ em, purpose, condition, related }: Visible, query: Query): SqlQuestion {
    return { em, purpose, plan: this.#planOf(em, query.meta), query, condition, related };
  }

  protected readRows(question: SqlQuestion, select: Select): Awaitable<unknown[][]> {
    return this.#read(question, bindSelect(question, select));
  }

  protected readJoined(
    question: SqlQuestion,
    columns: readonly FieldPath[],
    key: Condition,
    joined: JoinedChildren<SqlQuestion>,
  ): Awaitable<RecordWithChildren | undefined> {
    return whenReady(this.#read(question, bindJoined(question, columns, key, joined)), (rows) =>
      withChildren(rows, columns.length),
    );
  }

  protected readPage(
    question: SqlQuestion,
    { columns }: Reading<unknown>,
    slice: Slice | undefined,
    counting: Counting,
  ): Awaitable<RowPage> {
    return this.#dialect.run(question.em, question.purpose, (reader) =>
      readPage(pageSource(question, columns, reader), slice, counting),
    );
  }

  protected countRows(question: SqlQuestion): Awaitable<number> {
    return this.#dialect.run(question.em, question.purpose, (reader) => countRows(question, reader));
  }

  protected readGroups(question: SqlQuestion, grouping: Grouping): Awaitable<Group[]> {
    return whenReady(this.#read(question, bindGrouping(question, grouping)), (rows) =>
      rows.map((row) => groupOf(this.#dialect, grouping, row)),
    );
  }

  protected readChildRows(
    question: SqlQuestion,
    related: RelatedProjection,
    { columns }: Reading<unknown>,
    keys: readonly unknown[],
  ): Awaitable<unknown[][]> {
    const read = this.#read(question, bindChildren(question, related, columns, keys));
    return whenReady(read, (rows) => rowsByKey(related, rows, columns.length, keys));
  }

  protected override readStoredValues(
    question: SqlQuestion,
    path: FieldPath,
    values: readonly unknown[],
  ): Awaitable<ReadonlyMap<unknown, unknown>> {
    if (!mayHoldEqual(path)) return super.readStoredValues(question, path, values);
    const read = this.#read(question, bindStoredValues(question, path, values));
    return whenReady(read, (rows) => placedValues(rows, values, valueReader(path, question.em.getPlatform())));
  }

  #read({ em, purpose }: SqlQuestion, { statement, values }: Bound): Awaitable<unknown[][]> {
    return this.#dialect.run(em, purpose, (reader) => reader.rows(statement, values));
  }

  #write({ em, meta, request }: Omit<RowWrite<unknown>, 'projection'>, write: Write): Awaitable<unknown[][]> {
    const { statement, values } = bindWrite(em, this.#planOf(em, meta), write);
    return this.#dialect.run(em, 'write', (reader) => {
      checkNotAborted(request);
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

function assignmentsOf(meta: EntityMetadata, data: object): Assignment[] {
  const assignments: Assignment[] = [];
  for (const name of Object.keys(data)) {
    const value: unknown = data[name as never];
    if (value !== undefined) assignments.push({ path: fieldPath(meta, name, '.'), value });
  }
  return assignments;
}

/** Lists the columns of an entity's table. */
function columnsOf(meta: EntityMetadata): string[] {
  const columns = meta.props.flatMap((property) => {
    const isStored = property.persist !== false && property.formula === undefined && !isInlineEmbeddable(property);
    const hasColumn = isToOne(property)
      ? ownsColumn(property)
      : property.targetMeta === undefined || isEmbeddable(property);
    const names: readonly string[] | undefined = property.fieldNames;
    return isStored && hasColumn ? (names ?? []) : [];
  });
  return [...new Set(columns)];
}
