import type { EntityManager, EntityProperty } from '@mikro-orm/core';
import type { FieldPath } from '../../fields/field-path.ts';
import type { Condition } from '../../language/condition.ts';
import { type Comparison, VALUE } from './dialects/comparison.ts';
import { quoted } from './dialects/dialect.ts';
import type { Bound } from './dialects/reader.ts';
import { writeCondition } from './condition-sql.ts';
import { type EntityPlan, type KnownWrite, tableSql } from './entity-plan.ts';
import { nextAlias, SqlScope } from './scope.ts';
import { SqlText } from './sql-text.ts';
import { rootScope } from './statement.ts';

/** A column and what to store in it. */
export interface Assignment {
  readonly path: FieldPath;
  readonly value: unknown;
}

/** A statement that writes, and the columns that it reads of the written records. */
export interface Write {
  readonly kind: 'insert' | 'update' | 'delete';
  readonly assignments: readonly Assignment[];
  /** The records to write; an insert has none. */
  readonly condition: Condition | undefined;
  readonly returning: readonly FieldPath[];
}

/** The number of writes whose text is kept for an entity: a client chooses which of its optional fields it sends. */
const MAX_WRITES = 20;

/**
 * `insert … returning …`, `update … returning …` or `delete … returning …`. The first row tells what is asked: databases have
 * written all rows by then.
 *
 * The text of an insert, and of a write that finds its record by one column, depends on columns alone. It is written once for those
 * that come again.
 */
export function bindWrite(em: EntityManager, plan: EntityPlan, write: Write): Bound {
  const { kind, assignments, condition, returning } = write;
  const found = condition === undefined ? undefined : foundBy(plan, condition);
  if (condition !== undefined && found === undefined) return writeAnew(em, plan, write);
  let writes = plan.writes.get(returning);
  if (writes === undefined) plan.writes.set(returning, (writes = []));
  let known = writes.find((each) => each.kind === kind && isFoundBy(each, found) && stores(each, assignments));
  if (known === undefined) {
    const { statement } = writeAnew(em, plan, write);
    known = { kind, stored: assignments.map(({ path }) => path), found, statement };
    if (writes.unshift(known) > MAX_WRITES) writes.pop();
  }
  const values = assignments.map(({ path, value }) => plan.dialect.stored(path, value));
  return { statement: known.statement, values: found === undefined ? values : values.concat(found.values) };
}

/** The comparison of a condition that names a record by one column of its own; undefined for any other condition. */
function foundBy(
  { dialect }: EntityPlan,
  condition: Condition,
): (Comparison & { readonly path: FieldPath }) | undefined {
  if (condition.kind !== 'compare' || condition.lookup !== 'exact' || condition.path.steps.length > 0) return undefined;
  const { path, lookup, value } = condition;
  return { path, ...dialect.compare(path, lookup, value) };
}

function isFoundBy({ found: known }: KnownWrite, found: KnownWrite['found']): boolean {
  return known?.path === found?.path && known?.template === found?.template;
}

function stores({ stored }: KnownWrite, assignments: readonly Assignment[]): boolean {
  if (stored.length !== assignments.length) return false;
  for (let index = 0; index < stored.length; index++) if (assignments[index]!.path !== stored[index]) return false;
  return true;
}

function writeAnew(em: EntityManager, plan: EntityPlan, write: Write): Bound {
  const { kind, assignments, returning } = write;
  const text = kind === 'insert' ? insertText(em, plan, assignments) : changeText(em, plan, write);
  text.add(` returning ${returningSql(plan, returning)}`);
  // A client chooses which fields it sends.
  const isShapedByClient = kind !== 'delete';
  return { statement: { sql: text.numberValues(plan.dialect), one: true, isShapedByClient }, values: text.values };
}

function insertText(em: EntityManager, plan: EntityPlan, assignments: readonly Assignment[]): SqlText {
  const text = new SqlText();
  const table = tableSql(plan, em, plan.meta);
  if (assignments.length === 0) return text.add(`insert into ${table} default values`);
  const columns = assignments.map(({ path }) => columnOf(path.property));
  return text.add(
    `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => VALUE).join(', ')})`,
    assignments.map(({ path, value }) => plan.dialect.stored(path, value)),
  );
}

function changeText(em: EntityManager, plan: EntityPlan, { kind, assignments, condition }: Write): SqlText {
  const text = new SqlText();
  const table = tableSql(plan, em, plan.meta);
  const scope = rootScope(em, plan, undefined);
  const changes = assignments.map(({ path }) => `${columnOf(path.property)} = ${VALUE}`).join(', ');
  text.add(
    kind === 'delete' ? `delete from ${table} as ${scope.alias}` : `update ${table} as ${scope.alias} set ${changes}`,
    assignments.map(({ path, value }) => plan.dialect.stored(path, value)),
  );
  return condition === undefined ? text : text.add(' where ').append(targetText(scope, condition));
}

/** A statement that writes has one table: a condition that joins others asks them in a sub-select of keys. */
function targetText(scope: SqlScope, condition: Condition): SqlText {
  const direct = new SqlText();
  writeCondition(direct, scope, condition);
  if (!scope.isJoined) return direct;
  const { context, meta } = scope;
  const inner = new SqlScope(context, meta, nextAlias(context), '');
  const where = new SqlText();
  writeCondition(where, inner, condition);
  const key = columnOf(meta.getPrimaryProps()[0] as EntityProperty);
  return new SqlText()
    .add(`${scope.alias}.${key} in (select ${inner.alias}.${key} from `)
    .append(inner.from())
    .add(' where ')
    .append(where)
    .add(')');
}

/** Columns of the written record, by their own names: SQLite knows no alias there. */
function returningSql(plan: EntityPlan, paths: readonly FieldPath[]): string {
  return paths.map((path, index) => `${plan.dialect.selected(path, columnOf(path.property))} as c${index}`).join(', ');
}

function columnOf({ fieldNames }: EntityProperty): string {
  return quoted(fieldNames[0] as string);
}
