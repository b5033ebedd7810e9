import type { EntityManager, EntityProperty } from '@mikro-orm/core';
import type { FieldPath } from '../../fields/field-path.ts';
import type { Condition } from '../../language/condition.ts';
import { VALUE } from './dialects/dialect.ts';
import { writeCondition } from './condition-sql.ts';
import { tableSql, type EntityPlan } from './entity-plan.ts';
import { nextAlias, Scope } from './scope.ts';
import type { Selection } from './selection.ts';
import { SqlText } from './sql-text.ts';
import { type Bound, rootScope } from './statement.ts';

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
  const text = writeText(em, plan, write);
  const key = `${write.kind}\n${text.sql}\n${write.returning.key}`;
  // A client chooses which fields it sends.
  const isShapedByClient = write.kind !== 'delete';
  let statement = plan.statements.get(key, isShapedByClient);
  if (statement === undefined) {
    const sql = `${text.sql} returning ${returningSql(plan, write.returning)}`;
    const whole = new SqlText().add(sql).numbered(plan.dialect);
    statement = plan.statements.keep(key, { sql: whole, one: true, isShapedByClient });
  }
  return { statement, values: text.values };
}

function writeText(em: EntityManager, plan: EntityPlan, { kind, assignments, condition }: Write): SqlText {
  const text = new SqlText();
  const table = tableSql(plan, em, plan.meta);
  const values = assignments.map(({ path, value }) => plan.dialect.stored(path, value));
  const columns = assignments.map(({ path }) => columnOf(plan, path.property));
  if (kind === 'insert') {
    if (columns.length === 0) return text.add(`insert into ${table} default values`);
    return text.add(
      `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => VALUE).join(', ')})`,
      values,
    );
  }
  const scope = rootScope(em, plan, undefined);
  const changes = columns.map((column) => `${column} = ${VALUE}`).join(', ');
  text.add(
    kind === 'delete' ? `delete from ${table} as ${scope.alias}` : `update ${table} as ${scope.alias} set ${changes}`,
  );
  text.add('', values);
  return condition === undefined ? text : text.add(' where ').append(targetText(scope, condition));
}

/** A statement that writes has one table: a condition that joins others asks them in a sub-select of keys. */
function targetText(scope: Scope, condition: Condition): SqlText {
  const direct = new SqlText();
  writeCondition(direct, scope, condition);
  if (scope.joins === '') return direct;
  const { context, meta } = scope;
  const inner = new Scope(context, meta, nextAlias(context), '');
  const where = new SqlText();
  writeCondition(where, inner, condition);
  const key = columnOf(context.plan, meta.getPrimaryProps()[0] as EntityProperty);
  return new SqlText()
    .add(`${scope.alias}.${key} in (select ${inner.alias}.${key} from `)
    .append(inner.from())
    .add(' where ')
    .append(where)
    .add(')');
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
