import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import { type Awaitable, whenReady } from '../awaitable.ts';
import { fieldPath } from '../fields/field-path.ts';
import type { Condition } from '../language/condition.ts';
import type { Projection } from '../language/projection.ts';
import { entityPlan } from '../backends/sql/entity-plan.ts';
import { selectionOf } from '../backends/sql/selection.ts';
import { bindWrite, type Assignment, type Write } from '../backends/sql/write-statement.ts';

/**
 * Writes rows without entities, each as one statement that answers with the record as it was stored. Whether that means
 * the same as the unit of work, a `WritePlan` decides.
 *
 * `check` is called right before a statement runs, which may have waited for its connection; nothing is written if it
 * throws.
 */
export interface RowWriter<Record> {
  insert(
    em: EntityManager,
    data: object,
    check: () => void,
  ): Awaitable<{ readonly pk: unknown; readonly record: Record }>;
  /** Answers with undefined if the condition is true of no record. */
  update(em: EntityManager, condition: Condition, data: object, check: () => void): Awaitable<Record | undefined>;
  /** Answers with false if the condition is true of no record. */
  remove(em: EntityManager, condition: Condition, check: () => void): Awaitable<boolean>;
}

export function rowWriter<Record>(meta: EntityMetadata, projection: Projection<Record>): RowWriter<Record> {
  const pk = fieldPath(meta, meta.primaryKeys[0] as string, '.');
  const key = selectionOf({ paths: [pk] });
  const returning = selectionOf(projection);
  const isPkShown = projection.paths.includes(pk);
  const inserted = isPkShown ? returning : selectionOf({ paths: [...projection.paths, pk] });
  const pkPlace = inserted.paths.indexOf(pk);
  const run = (em: EntityManager, check: () => void, write: Write): Awaitable<unknown[][]> => {
    const plan = entityPlan(em, meta);
    const { statement, values } = bindWrite(em, plan, write);
    return plan.dialect.write(em, (reader) => {
      check();
      return reader.rows(statement, values);
    });
  };
  return {
    insert: (em, data, check) => {
      const assignments = assignmentsOf(meta, data);
      const written = run(em, check, { kind: 'insert', assignments, condition: undefined, returning: inserted });
      return whenReady(written, ([row]) => {
        if (row === undefined) throw notStored(meta);
        return { pk: row[pkPlace], record: projection.readRow(row) };
      });
    },
    update: (em, condition, data, check) => {
      const assignments = assignmentsOf(meta, data);
      const written = run(em, check, { kind: 'update', assignments, condition, returning });
      return whenReady(written, ([row]) => (row === undefined ? undefined : projection.readRow(row)));
    },
    remove: (em, condition, check) => {
      const removed = run(em, check, { kind: 'delete', assignments: [], condition, returning: key });
      return whenReady(removed, (rows) => rows.length > 0);
    },
  };
}

/** The error of an insert after which there is no record: a trigger or a rule of the table has dropped it. */
export function notStored({ className, tableName }: EntityMetadata): Error {
  return new Error(`${className}: the insert stored no record; does a trigger of the table "${tableName}" drop it?`);
}

function assignmentsOf(meta: EntityMetadata, data: object): Assignment[] {
  const assignments: Assignment[] = [];
  for (const [name, value] of Object.entries(data) as [string, unknown][]) {
    if (value !== undefined) assignments.push({ path: fieldPath(meta, name, '.'), value });
  }
  return assignments;
}
