import type { EntityManager, EntityProperty } from '@mikro-orm/core';
import type { FieldPath } from '../../fields/field-path.ts';
import type { Condition } from '../../language/condition.ts';
import { VALUE } from './dialects/comparison.ts';
import { quoted } from './dialects/dialect.ts';
import type { Bound } from './dialects/reader.ts';
import { writeCondition } from './condition-sql.ts';
import { type EntityPlan, type KnownInsert, tableSql } from './entity-plan.ts';
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

/** The number of inserts that are kept for an entity: a client chooses which of its optional fields it sends. */
const MAX_INSERTS = 20;

/**
 * `insert … returning …`, `update … returning …` or `delete … returning …`. The first row tells what is asked: databases have
 * written all rows by then.
 */
export function bindWrite(em: EntityManager, plan: EntityPlan, write: Write): Bound {
  if (write.kind === 'insert') return bindInsert(em, plan, write);
  const text = changeText(em, plan, write).add(` returning ${returningSql(plan, write.returning)}`);
  // A client chooses which fields it sends.
  const isShapedByClient = write.kind === 'update';
  return { statement: { sql: text.numberValues(plan.dialect), one: true, isShapedByClient }, values: text.values };
}

/** The text of an insert depends on its columns alone, so that it is written once for those that come again. */
function bindInsert(em: EntityManager, plan: EntityPlan, { assignments, returning }: Write): Bound {
  let inserts = plan.inserts.get(returning);
  if (inserts === undefined) plan.inserts.set(returning, (inserts = []));
  let known = inserts.find(({ stored }) => storesInto(assignments, stored));
  if (known === undefined) {
    known = writeInsert(em, plan, assignments, returning);
    if (inserts.unshift(known) > MAX_INSERTS) inserts.pop();
  }
  return { statement: known.statement, values: assignments.map(({ path, value }) => plan.dialect.stored(path, value)) };
}

function storesInto(assignments: readonly Assignment[], columns: readonly FieldPath[]): boolean {
  return columns.length === assignments.length && columns.every((column, index) => assignments[index]!.path === column);
}

function writeInsert(
  em: EntityManager,
  plan: EntityPlan,
  assignments: readonly Assignment[],
  returning: readonly FieldPath[],
): KnownInsert {
  const text = new SqlText().add(`${insertSql(em, plan, assignments)} returning ${returningSql(plan, returning)}`);
  const statement = { sql: text.numberValues(plan.dialect), one: true, isShapedByClient: true };
  return { stored: assignments.map(({ path }) => path), statement };
}

function insertSql(em: EntityManager, plan: EntityPlan, assignments: readonly Assignment[]): string {
  const table = tableSql(plan, em, plan.meta);
  if (assignments.length === 0) return `insert into ${table} default values`;
  const columns = assignments.map(({ path }) => columnOf(path.property));
  return `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => VALUE).join(', ')})`;
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
