import type { EntityManager } from '@mikro-orm/core';
import { ownsColumn } from '../../fields/property.ts';
import { type Condition, isAlways } from '../../language/condition.ts';
import type { OrderKey } from '../../language/order.ts';
import type { Slice } from '../../language/query.ts';
import type { RelatedFilters } from '../entity-filters.ts';
import { writeCondition } from './condition-sql.ts';
import { SAME_VALUE, VALUE } from './dialects/dialect.ts';
import type { Statement } from './dialects/reader.ts';
import { discriminatorSql, type EntityPlan } from './entity-plan.ts';
import { nextAlias, Scope } from './scope.ts';
import { selectionSql, type Selection } from './selection.ts';
import { SqlText } from './sql-text.ts';

/** Everything that a `select` says. */
export interface Select {
  readonly condition: Condition;
  readonly related: RelatedFilters | undefined;
  /** The columns to read; or the number of records; or whether there is one. */
  readonly columns: Selection | 'count' | 'exists';
  /** The keys of a total order; empty if it makes no difference. */
  readonly order: readonly OrderKey[];
  readonly slice: Slice | undefined;
  /** Adds the number of all records as the last column. */
  readonly counted: boolean;
  readonly locked: boolean;
  /** True if there is one row at most, which is told to the driver. */
  readonly one: boolean;
  readonly isShapedByClient: boolean;
}

/** A question about records, with the filters that hide some of them. */
export interface Question {
  readonly em: EntityManager;
  readonly plan: EntityPlan;
  readonly select: Select;
}

/** A statement, and the values to run it with. */
export interface Bound {
  readonly statement: Statement;
  readonly values: readonly unknown[];
}

/** A condition as it was written, for every question about the same records. */
export interface Where {
  readonly sql: string;
  readonly values: readonly unknown[];
  /** The joins that it takes. */
  readonly joins: string;
}

/** Writes the condition of a select; undefined if filters of related records have a part in it. */
export function bindWhere({ em, plan, select }: Question): Where | undefined {
  if (select.related !== undefined) return undefined;
  const scope = rootScope(em, plan, undefined);
  const where = new SqlText();
  writeWhere(where, scope, select.condition);
  return { sql: where.sql, values: where.values, joins: scope.joins };
}

/**
 * The statement of a select, and its values. Its condition, with the joins that it takes, is the key by which the whole
 * text is known. A text that filters of related records have a part in is made anew each time: those may bind values
 * anywhere.
 * @param where its condition, if it was written for another question about the same records
 */
export function bindSelect(question: Question, where: Where | undefined = bindWhere(question)): Bound {
  const { plan, select } = question;
  const { one, isShapedByClient, slice } = select;
  if (where === undefined) {
    const text = selectText(question);
    return { statement: { sql: text.numbered(plan.dialect), one, isShapedByClient }, values: text.values };
  }
  const key = frameKey(select) + where.joins + where.sql;
  const statement = plan.statements.get(key, isShapedByClient) ?? keep(question, key);
  return { statement, values: slice === undefined ? where.values : [...where.values, ...sliceValues(slice)] };
}

function keep(question: Question, key: string): Statement {
  const { plan, select } = question;
  const { one, isShapedByClient } = select;
  return plan.statements.keep(key, { sql: selectText(question).numbered(plan.dialect), one, isShapedByClient });
}

/** A scope of the whole table of an entity. */
export function rootScope(em: EntityManager, plan: EntityPlan, related: RelatedFilters | undefined): Scope {
  const context = { em, plan, related, aliases: { next: 0 }, writeCondition };
  return new Scope(context, plan.meta, nextAlias(context), '');
}

/** Everything that decides the text, but for the condition and its joins. */
function frameKey({ columns, order, slice, counted, locked, one }: Select): string {
  const sliced = slice === undefined ? 0 : slice.offset === 0 ? 1 : 2;
  const traits = sliced + (counted ? 4 : 0) + (locked ? 8 : 0) + (one ? 16 : 0);
  let key = `${typeof columns === 'string' ? columns : columns.key} ${traits}`;
  for (const { path, descending } of order) key += `${descending ? '-' : '+'}${path.key}`;
  return `${key}\n`;
}

function sliceValues(slice: Slice | undefined): readonly number[] {
  if (slice === undefined) return [];
  return slice.offset === 0 ? [slice.limit] : [slice.limit, slice.offset];
}

function selectText({ em, plan, select }: Question): SqlText {
  const { dialect } = plan;
  const { related } = select;
  const scope = rootScope(em, plan, related);
  const where = new SqlText();
  writeWhere(where, scope, select.condition);
  const columns = columnsSql(scope, select.columns);
  const order = orderSql(scope, select.order);
  const text = new SqlText().add(`select ${columns}`);
  if (select.counted) {
    const count = countText(new Scope(scope.context, scope.meta, nextAlias(scope.context), ''), select.condition);
    // The count asks in front the same values as the rows do: only filters of related records bind more than those.
    if (related === undefined) text.add(`, (${count.sql}) as total`);
    else text.add(', (').append(count).add(') as total');
  }
  text.add(' from ').append(scope.from());
  if (select.counted && related === undefined) text.add(where.sql.replaceAll(VALUE, SAME_VALUE), where.values);
  else text.append(where);
  const values = sliceValues(select.slice);
  text
    .add(order)
    .add(
      ['', ` limit ${dialect.sliceValue}`, ` limit ${dialect.sliceValue} offset ${dialect.sliceValue}`][
        values.length
      ] ?? '',
      values,
    );
  return text.add(select.locked ? dialect.lock(scope.alias) : '');
}

function columnsSql(scope: Scope, columns: Select['columns']): string {
  if (typeof columns !== 'string') return selectionSql(scope, columns);
  return columns === 'count' ? 'count(*)' : '1';
}

/** The number of records, as a query of its own: it joins what its condition needs and nothing else. */
function countText(scope: Scope, condition: Condition): SqlText {
  const where = new SqlText();
  writeWhere(where, scope, condition);
  return new SqlText().add('select count(*) from ').append(scope.from()).append(where);
}

function writeWhere(out: SqlText, scope: Scope, condition: Condition): void {
  const { em, plan } = scope.context;
  const required = requiredSql(scope);
  const discriminator = discriminatorSql(plan, em, scope.meta, scope.alias);
  if (discriminator !== undefined) required.push(discriminator);
  if (isAlways(condition)) {
    if (required.length > 0) out.add(` where ${required.join(' and ')}`);
    return;
  }
  const written = new SqlText();
  writeCondition(written, scope, condition);
  if (plan.dialect.guard !== undefined && written.values.length > UNGUARDED_VALUES) required.push(plan.dialect.guard);
  const [before, after] = required.length === 0 ? ['', ''] : [`${required.join(' and ')} and (`, ')'];
  out.add(` where ${before}`).append(written).add(after);
}

/** A condition with more values than these is guarded. It has several for a word of a search. */
const UNGUARDED_VALUES = 8;

/** Asks for the related records that a record is hidden without: by a join, where there must be one. */
function requiredSql(scope: Scope): string[] {
  const pieces: string[] = [];
  if (scope.context.related === undefined) return pieces;
  for (const property of scope.meta.relations) {
    if (!ownsColumn(property) || scope.filterOf([property])?.required !== true) continue;
    scope.join([property]);
    if (property.nullable !== true) continue;
    pieces.push(`(${scope.ownColumn(property)} is null or ${scope.column([], property)} is not null)`);
  }
  return pieces;
}

function orderSql(scope: Scope, order: readonly OrderKey[]): string {
  if (order.length === 0) return '';
  const { dialect } = scope.context.plan;
  const keys = order.map(({ path, descending }) =>
    dialect.ordered(path, scope.column(path.steps, path.property), descending),
  );
  return ` order by ${keys.join(', ')}`;
}
