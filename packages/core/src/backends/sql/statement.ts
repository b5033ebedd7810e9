import type { EntityManager } from '@mikro-orm/core';
import { conditionForm } from './condition-form.ts';
import { conditionSql } from './condition-sql.ts';
import type { Condition } from '../../language/condition.ts';
import { SAME_VALUE, VALUE } from './dialects/dialect.ts';
import { discriminatorSql, type EntityPlan } from './entity-plan.ts';
import { concat, fragment, joinBalanced, numbered, type Fragment } from './fragment.ts';
import type { OrderKey } from '../../language/order.ts';
import type { Statement } from './dialects/reader.ts';
import { nextAlias, Scope, type CompileContext, type RelatedFilters } from './scope.ts';
import { selectionSql, type Selection } from './selection.ts';
import type { Form } from './statement-cache.ts';

/** Which of the records to read, in their order. */
export interface Slice {
  readonly offset: number;
  readonly limit: number;
}

/** Everything that a statement says. */
export interface Query {
  readonly condition: Condition;
  readonly related: RelatedFilters | undefined;
  /** The columns to read; or how many records there are; or whether there is one. */
  readonly select: Selection | 'count' | 'exists';
  /** The keys of a total order; empty where it makes no difference. */
  readonly order: readonly OrderKey[];
  readonly slice: Slice | undefined;
  /** Adds the number of all records as the last column. */
  readonly counted: boolean;
  readonly locked: boolean;
  /** Whether there is one row at most, which is told to the driver. */
  readonly one: boolean;
}

/** Which records a question is about. */
export interface Records {
  readonly condition: Condition;
  readonly related?: RelatedFilters | undefined;
}

/** A question that one row answers, or none; `slice` where more records might. */
export function oneRow(select: Query['select'], { condition, related }: Records, slice?: Slice): Query {
  return { select, condition, order: [], slice, related, counted: false, locked: false, one: true };
}

/** A statement, and the values to run it with. */
export interface Bound {
  readonly statement: Statement;
  readonly values: readonly unknown[];
}

/** A condition's place in the tree of forms, and the values that its text binds. */
export interface BoundCondition {
  readonly form: Form;
  readonly values: readonly unknown[];
}

/** Undefined where filters of related records decide the text as well: such a statement is made anew each time. */
export function bindCondition(
  em: EntityManager,
  plan: EntityPlan,
  { condition, related }: Records,
): BoundCondition | undefined {
  if (related !== undefined) return undefined;
  const values: unknown[] = [];
  return { form: conditionForm(em, plan.dialect, condition, values, plan.statements.root), values };
}

/**
 * The statement of a query: from the cache where one of the same form has been made before.
 * @param where its condition, where that has been bound for another question about the same records
 */
export function bindStatement(
  em: EntityManager,
  plan: EntityPlan,
  query: Query,
  where: BoundCondition | undefined = bindCondition(em, plan, query),
): Bound {
  if (where === undefined) return build(em, plan, query);
  const form = formOf(where, query);
  if (form.statement !== undefined) return { statement: form.statement, values: valuesOf(where, query) };
  const built = build(em, plan, query);
  plan.statements.keep(form, built.statement);
  return built;
}

function formOf({ form: condition }: BoundCondition, query: Query): Form {
  const { select, order } = query;
  let form = condition.step(typeof select === 'string' ? select : select.key).step(traits(query));
  for (const { path, descending } of order) form = form.step(path).step(descending);
  return form;
}

function valuesOf({ values }: BoundCondition, { slice }: Query): readonly unknown[] {
  if (slice === undefined) return values;
  const all = [...values];
  pushSlice(slice, all);
  return all;
}

/** What is yes or no of a statement, as one number. */
function traits({ select, slice, counted, locked, one }: Query): number {
  const sliced = slice === undefined ? 0 : slice.offset === 0 ? 1 : 2;
  return sliced + (counted ? 4 : 0) + (locked ? 8 : 0) + (typeof select === 'string' ? 16 : 0) + (one ? 32 : 0);
}

function pushSlice(slice: Slice | undefined, values: unknown[]): void {
  if (slice === undefined) return;
  values.push(slice.limit);
  if (slice.offset !== 0) values.push(slice.offset);
}

function build(em: EntityManager, plan: EntityPlan, query: Query): Bound {
  const context: CompileContext = { em, plan, related: query.related, aliases: { next: 0 }, conditionSql };
  const scope = new Scope(context, plan.meta, nextAlias(context), '');
  const { sql, values } = selectSql(scope, query);
  return { statement: { sql: numbered(plan.dialect, sql), one: query.one }, values };
}

function selectSql(scope: Scope, query: Query): Fragment {
  const { plan } = scope.context;
  const columns =
    typeof query.select === 'string'
      ? query.select === 'count'
        ? 'count(*)'
        : '1'
      : selectionSql(scope, query.select);
  const counted = query.counted ? concat([', (', countSql(scope, query), ') as total']) : '';
  const asked = whereSql(scope, query.condition);
  const where = query.counted && query.related === undefined ? repeated(asked) : asked;
  const order = orderSql(scope, query.order);
  const slice: unknown[] = [];
  pushSlice(query.slice, slice);
  const { sliceValue } = plan.dialect;
  const sliced = ['', ` limit ${sliceValue}`, ` limit ${sliceValue} offset ${sliceValue}`][slice.length] ?? '';
  const locked = query.locked ? plan.dialect.lock(scope.alias) : '';
  return concat([`select ${columns}`, counted, ' from ', scope.from(), where, order, fragment(sliced, slice), locked]);
}

/** How many records there are, as a query of its own: it joins what its condition needs and nothing else. */
function countSql(scope: Scope, query: Query): Fragment {
  const inner = new Scope(scope.context, scope.meta, nextAlias(scope.context), '');
  const where = whereSql(inner, query.condition);
  return concat(['select count(*) from ', inner.from(), where]);
}

/** What the count has asked in front already, of the same values: only filters of related records bind more than that. */
function repeated({ sql }: Fragment): Fragment {
  return fragment(sql.replaceAll(VALUE, SAME_VALUE));
}

function whereSql(scope: Scope, condition: Condition): Fragment {
  const { em, plan } = scope.context;
  const pieces = requiredSql(scope);
  const discriminator = discriminatorSql(plan, em, scope.meta, scope.alias);
  if (discriminator !== undefined) pieces.push(fragment(discriminator));
  if (condition.kind !== 'constant' || !condition.value) {
    const sql = conditionSql(scope, condition);
    pieces.push(pieces.length === 0 ? sql : concat(['(', sql, ')']));
  }
  return pieces.length === 0 ? fragment('') : concat([' where ', joinBalanced(pieces, ' and ')]);
}

/** What hides a record along with a related one has to be asked, whatever else is: by a join, where there must be one. */
function requiredSql(scope: Scope): Fragment[] {
  const pieces: Fragment[] = [];
  for (const property of scope.context.plan.hiding) {
    if (scope.filterOf([property])?.required !== true) continue;
    scope.join([property]);
    if (property.nullable !== true) continue;
    pieces.push(fragment(`(${scope.ownColumn(property)} is null or ${scope.column([], property)} is not null)`));
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
