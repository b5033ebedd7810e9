import type { EntityManager, EntityProperty } from '@mikro-orm/core';
import type { FieldPath } from '../../fields/field-path.ts';
import type { Condition } from '../../query/language/condition.ts';
import { VALUE } from './dialects/comparison.ts';
import { quoted } from './dialects/dialect.ts';
import type { Bound } from './dialects/reader.ts';
import { writeCondition } from './condition-sql.ts';
import { type EntityPlan, tableSql } from './entity-plan.ts';
import { nextAlias, SqlScope } from './scope.ts';
import { SqlText } from './sql-text.ts';
import { rootScope } from './statement.ts';
import { StatementShape } from './statement-shape.ts';

/** A column, and the value to store in it. */
export interface Assignment {
  readonly path: FieldPath;
  readonly value: unknown;
}

/** A writing statement, and the columns of the written record that it reads. */
export interface Write {
  readonly kind: 'insert' | 'update' | 'delete';
  readonly assignments: readonly Assignment[];
  /** The records to write. Undefined for an insert. */
  readonly condition: Condition | undefined;
  readonly returning: readonly FieldPath[];
}

/**
 * `insert … returning …`, `update … returning …` or `delete … returning …`. Reading the first row is enough, because
 * databases have written all rows by then. The text is written once for its shape.
 */
export function bindWrite(em: EntityManager, plan: EntityPlan, write: Write): Bound {
  const { kind, assignments, condition, returning } = write;
  const { dialect } = plan;
  const shape = new StatementShape(plan, kind, isShapedByClient(kind));
  shape.addColumns(returning);
  for (const { path, value } of assignments) {
    shape.addComparison(path, { template: VALUE, values: [dialect.stored(path, value)] });
  }
  if (condition !== undefined) shape.addCondition(condition);
  return shape.bind(() => writeStatement(em, plan, write));
}

function writeStatement(em: EntityManager, plan: EntityPlan, write: Write): Bound {
  const { kind, assignments, returning } = write;
  const text = kind === 'insert' ? insertText(em, plan, assignments) : changeText(em, plan, write);
  text.add(` returning ${returningSql(plan, returning)}`);
  return text.bound(plan.dialect, { isShapedByClient: isShapedByClient(kind), one: true });
}

/** Clients choose which fields they send. */
function isShapedByClient(kind: Write['kind']): boolean {
  return kind !== 'delete';
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

/** A writing statement has only one table. A condition with joins becomes a sub-select of keys. */
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

/** Writes columns of the written record by their own names, because SQLite has no alias there. */
function returningSql(plan: EntityPlan, paths: readonly FieldPath[]): string {
  return paths.map((path, index) => `${plan.dialect.selected(path, columnOf(path.property))} as c${index}`).join(', ');
}

function columnOf({ fieldNames }: EntityProperty): string {
  return quoted(fieldNames[0] as string);
}
