import type { EntityManager } from '@mikro-orm/core';
import type { FieldPath } from '../../fields/field-path.ts';
import { and, type Condition, isAlways } from '../../query/language/condition.ts';
import type { OrderKey } from '../../query/language/order.ts';
import type { Slice } from '../../query/language/query.ts';
import type { RelatedFilters } from '../entity-filters.ts';
import type { Question, Select } from '../question.ts';
import { writeCondition, writeAggregate } from './condition-sql.ts';
import type { Bound } from './dialects/reader.ts';
import { discriminatorSql, type EntityPlan } from './entity-plan.ts';
import { nextAlias, SqlScope } from './scope.ts';
import { selectionSql } from './selection.ts';
import { SqlText } from './sql-text.ts';
import { StatementShape } from './statement-shape.ts';

/** The columns of a select: columns of records, or one aggregate over all of them. */
export type Columns = readonly FieldPath[] | { readonly sql: string };

/** The number of records as a column. */
export const COUNT: Columns = Object.freeze({ sql: 'count(*)' });

/** The parts of a select that are not in its query. */
export interface SqlSelect extends Omit<Select, 'columns' | 'entityColumns'> {
  readonly columns: Columns;
  /** Adds the number of all records as the last column. */
  readonly counted?: boolean;
}

/** The records that a select reads. */
export interface SqlQuestion extends Question {
  readonly plan: EntityPlan;
}

/**
 * Returns the statement of a select, and its values. The text is written once for its shape. If related records are
 * filtered, it is written each time.
 */
export function bindSelect(question: SqlQuestion, select: SqlSelect): Bound {
  const { plan, query, condition, related } = question;
  const write = (): Bound => writeSelect(question, select);
  if (related !== undefined) return write();
  const { columns, key, slice, ordered, counted } = select;
  const shape = new StatementShape(plan, KINDS[traitsOf(select)] as string, query.author === 'client');
  if ('sql' in columns) shape.addText(columns.sql);
  else shape.addColumns(columns);
  const from = shape.values.length;
  shape.addCondition(conditionFor(condition, key));
  if (counted === true) shape.repeatValues(from);
  if (ordered === true) shape.addOrder(query.order.total);
  shape.addValues(sliceValues(slice));
  return shape.bind(write);
}

/** Encodes everything else that decides the text as a number. */
function traitsOf({ slice, ordered, counted, locked, one }: SqlSelect): number {
  const sliced = slice === undefined ? 0 : slice.offset === 0 ? 1 : 2;
  const flags = (ordered === true ? 4 : 0) + (counted === true ? 8 : 0) + (locked === true ? 16 : 0);
  return sliced + flags + (one === true ? 32 : 0);
}

/** Returns the condition of a select, which may be about one record. */
function conditionFor(condition: Condition, key: Condition | undefined): Condition {
  return key === undefined ? condition : and(key, condition);
}

/** The kinds of selects, by their traits. */
const KINDS = Array.from({ length: 64 }, (_, traits) => `select ${traits}`);

function writeSelect(question: SqlQuestion, select: SqlSelect): Bound {
  const { plan, query } = question;
  const { one = false } = select;
  return selectText(question, select).bound(plan.dialect, { isShapedByClient: query.author === 'client', one });
}

/** Makes the scope of an entity's whole table. */
export function rootScope(em: EntityManager, plan: EntityPlan, related: RelatedFilters | undefined): SqlScope {
  const context = { em, plan, related, aliases: { next: 0 }, writeCondition, writeAggregate };
  return new SqlScope(context, plan.meta, nextAlias(context), '');
}

function sliceValues(slice: Slice | undefined): readonly number[] {
  if (slice === undefined) return [];
  return slice.offset === 0 ? [slice.limit] : [slice.limit, slice.offset];
}

const SLICES = ['', ' limit %', ' limit % offset %'] as const;

function selectText({ em, plan, query, condition, related }: SqlQuestion, select: SqlSelect): SqlText {
  const { dialect } = plan;
  const { columns, key, slice } = select;
  const full = conditionFor(condition, key);
  const scope = rootScope(em, plan, related);
  const where = whereText(scope, full);
  // Only the joins that the condition needs. The joins of the columns and the order are added below.
  const counted = select.counted === true ? scope.from() : undefined;
  const selected = 'sql' in columns ? new SqlText().add(columns.sql) : selectionSql(scope, columns);
  const order = select.ordered === true ? orderSql(scope, query.order.total) : new SqlText();
  const text = new SqlText().add('select ').append(selected);
  if (counted !== undefined) text.add(', (select count(*) from ').append(counted).append(where).add(') as total');
  text.add(' from ').append(scope.from()).append(where).append(order);
  const values = sliceValues(slice);
  text.add((SLICES[values.length] ?? '').replaceAll('%', dialect.sliceValue), values);
  if (select.locked === true) text.add(dialect.lock(scope.alias));
  return text;
}

/** Writes the condition of a select, ` where …`. Writes nothing if all records are read. */
export function whereText(scope: SqlScope, condition: Condition, tied?: readonly string[]): SqlText {
  const written = conditionText(scope, condition, tied);
  return written.sql === '' ? written : new SqlText().add(' where ').append(written);
}

/** Writes a condition together with `tied`, required related records, and the discriminator of the entity. */
export function conditionText(scope: SqlScope, condition: Condition, tied: readonly string[] = []): SqlText {
  const { em, plan } = scope.context;
  const required = [...tied, ...requiredSql(scope)];
  const discriminator = discriminatorSql(em, scope.meta, scope.alias);
  if (discriminator !== undefined) required.push(discriminator);
  if (isAlways(condition)) return new SqlText().add(required.join(' and '));
  const written = new SqlText();
  writeCondition(written, scope, condition);
  if (plan.dialect.guard !== undefined && written.values.length > UNGUARDED_VALUES) required.push(plan.dialect.guard);
  if (required.length === 0) return written;
  return new SqlText()
    .add(`${required.join(' and ')} and (`)
    .append(written)
    .add(')');
}

/** A condition with more values than this is guarded. Each word of a search has several values. */
const UNGUARDED_VALUES = 8;

/** Returns the conditions for related records that must be visible. It joins them; an inner join needs no condition. */
function requiredSql(scope: SqlScope): string[] {
  const pieces: string[] = [];
  for (const property of scope.required()) {
    scope.join([property]);
    if (property.nullable !== true) continue;
    pieces.push(`(${scope.storedColumn([], property)} is null or ${scope.column([], property)} is not null)`);
  }
  return pieces;
}

/** Writes the order of a select, ` order by …`. */
export function orderSql(scope: SqlScope, order: readonly OrderKey[], first?: string): SqlText {
  const { dialect } = scope.context.plan;
  const text = new SqlText();
  if (first !== undefined) text.add(` order by ${first}`);
  for (const { path, descending } of order) {
    text.add(text.sql === '' ? ' order by ' : ', ');
    text.append(scope.value(path).within((sql) => dialect.ordered(path, sql, descending)));
  }
  return text;
}
