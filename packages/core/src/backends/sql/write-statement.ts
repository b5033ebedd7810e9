import type { EntityManager, EntityProperty } from '@mikro-orm/core';
import type { FieldPath } from '../../fields/field-path.ts';
import type { Condition } from '../../language/condition.ts';
import { VALUE } from './dialects/dialect.ts';
import type { Statement } from './dialects/reader.ts';
import { conditionForm } from './condition-form.ts';
import { conditionSql } from './condition-sql.ts';
import { tableSql, type EntityPlan } from './entity-plan.ts';
import { concat, fragment, numbered, type Fragment } from './fragment.ts';
import { nextAlias, Scope, type CompileContext } from './scope.ts';
import type { Selection } from './selection.ts';
import type { Bound } from './statement.ts';

/** A column and what to store in it. */
export interface Assignment {
  readonly path: FieldPath;
  readonly value: unknown;
}

/** What is stored, of which records, and what is read of them afterwards. */
export interface Write {
  readonly kind: 'insert' | 'update' | 'delete';
  readonly assignments: readonly Assignment[];
  /** Which records; an insert has none. */
  readonly condition: Condition | undefined;
  readonly returning: Selection;
}

/**
 * `insert … returning …`, `update … returning …` or `delete … returning …`, from the cache where one like it was made. The
 * first row tells what is asked: databases have written all rows by then.
 */
export function bindWrite(em: EntityManager, plan: EntityPlan, write: Write): Bound {
  const values: unknown[] = write.assignments.map(({ path, value }) => plan.dialect.stored(path, value));
  let form = plan.statements.root.step(write.kind);
  for (const { path } of write.assignments) form = form.step(path);
  form = form.step(write.returning.key);
  if (write.condition !== undefined) form = conditionForm(em, plan.dialect, write.condition, values, form);
  if (form.statement === undefined) plan.statements.keep(form, build(em, plan, write));
  return { statement: form.statement as Statement, values };
}

function build(em: EntityManager, plan: EntityPlan, write: Write): Statement {
  const table = tableSql(plan, em, plan.meta);
  const returning = ` returning ${returningSql(plan, write.returning)}`;
  const sql = write.kind === 'insert' ? insertSql(plan, table, write) : changeSql(em, plan, table, write);
  return { sql: numbered(plan.dialect, sql + returning), one: true };
}

function insertSql(plan: EntityPlan, table: string, { assignments }: Write): string {
  if (assignments.length === 0) return `insert into ${table} default values`;
  const columns = assignments.map(({ path }) => columnOf(plan, path.property));
  return `insert into ${table} (${columns.join(', ')}) values (${assignments.map(() => VALUE).join(', ')})`;
}

function changeSql(
  em: EntityManager,
  plan: EntityPlan,
  table: string,
  { kind, assignments, condition }: Write,
): string {
  const context: CompileContext = { em, plan, related: undefined, aliases: { next: 0 }, conditionSql };
  const scope = new Scope(context, plan.meta, nextAlias(context), '');
  const where = condition === undefined ? '' : ` where ${targetSql(scope, condition).sql}`;
  if (kind === 'delete') return `delete from ${table} as ${scope.alias}${where}`;
  const changes = assignments.map(({ path }) => `${columnOf(plan, path.property)} = ${VALUE}`);
  return `update ${table} as ${scope.alias} set ${changes.join(', ')}${where}`;
}

/** A statement that writes has one table: a condition that joins others asks them in a sub-select of keys. */
function targetSql(scope: Scope, condition: Condition): Fragment {
  const direct = conditionSql(scope, condition);
  if (!scope.hasJoins) return direct;
  const { context, meta } = scope;
  const inner = new Scope(context, meta, nextAlias(context), '');
  const pk = meta.getPrimaryProps()[0] as EntityProperty;
  const where = conditionSql(inner, condition);
  const key = columnOf(context.plan, pk);
  return concat([
    fragment(`${scope.alias}.${key} in (select ${inner.alias}.${key} from `),
    inner.from(),
    ' where ',
    where,
    ')',
  ]);
}

/** Columns of the written record, by their own names: SQLite knows no alias there. */
function returningSql(plan: EntityPlan, { paths }: Selection): string {
  return paths
    .map((path, index) => `${plan.dialect.selected(path, columnOf(plan, path.property))} as c${index}`)
    .join(', ');
}

function columnOf({ dialect }: EntityPlan, { fieldNames }: EntityProperty): string {
  return dialect.quote(fieldNames[0] as string);
}
