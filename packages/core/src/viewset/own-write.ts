import type { EntityManager } from '@mikro-orm/core';
import { type Awaitable, settle } from '../awaitable.ts';
import type { Violation } from '../backends/database-errors.ts';
import { type ErrorDetail, Forbidden, type HttpError, InvalidUsage, TargetObjectAlreadyExist } from '../errors.ts';
import { pointerStep } from '../json.ts';
import { backendOf } from '../query/backend-of.ts';
import { violationOf } from '../query/known-errors.ts';
import { takenRecords, type WrittenRecord } from './written-records.ts';

/** The answers to errors that the write of a view's own record met; the errors themselves stay as they are for hooks. */
const answers = new WeakMap<object, HttpError>();
/** The records of which one met an error, and nobody knows yet which. */
const suspects = new WeakMap<object, readonly WrittenRecord[]>();

/** The answer to an error of a view's own write. Undefined for any other error, which is no fault of the client's. */
export function ownWriteAnswer(error: unknown): HttpError | undefined {
  return typeof error === 'object' && error !== null ? answers.get(error) : undefined;
}

/**
 * Runs the statement that writes a view's own record. A value that the database refuses there came from the client, so
 * the error is answered as a 409 or 400 that names the fields of the body which are at fault.
 *
 * @param recordsOf the records that the body writes, the view's own first; asked if the database refuses one
 */
export function ownWrite<Result>(
  recordsOf: () => readonly WrittenRecord[],
  work: () => Awaitable<Result>,
): Awaitable<Result> {
  return settle(
    work,
    (result) => result,
    (error) => {
      const violation = violationOf(error);
      if (violation !== undefined) noteAnswer(error as object, recordsOf(), violation);
      throw error;
    },
  );
}

/**
 * Names the fields at fault in the answer to an error that one of several records met, once the transaction of the write has
 * ended: the database says which value is taken, not whose it is.
 */
export async function placeConflict(em: EntityManager, error: unknown): Promise<void> {
  const among = suspects.get(error as object);
  const violation = violationOf(error);
  if (among === undefined || violation === undefined) return;
  const names = namedFields(among[0]!, violation);
  // Without savepoints the transaction of the application's own has ended as well.
  const after = em.isInTransaction() && !backendOf(em).hasSavepoints ? em.fork() : em;
  const taken = await takenRecords(after, among, names);
  const details = taken.flatMap((record) => detailsOf(record, names, violation));
  if (details.length > 0) answers.set(error as object, answerOf(violation, details, error));
}

function noteAnswer(error: object, records: readonly WrittenRecord[], violation: Violation): void {
  const { kind, table } = violation;
  const written = records.filter(({ meta }) => table === undefined || table === meta.tableName);
  // A hook may have left other changes to be written along with it. The constraint on a record that others refer to is theirs.
  if (written.length === 0 && kind !== 'foreign key') return;
  const among = written.filter((record) => namedFields(record, violation).length > 0);
  const [only, ...others] = among;
  const details =
    only === undefined || others.length > 0 ? [] : detailsOf(only, namedFields(only, violation), violation);
  answers.set(error, answerOf(violation, details, error, records.length === 0));
  if (others.length > 0 && kind === 'unique') suspects.set(error, among);
}

function answerOf({ kind }: Violation, details: readonly ErrorDetail[], cause: unknown, isDestroy = false): HttpError {
  if (kind === 'check') return new InvalidUsage('A value breaks a rule of the database', { cause });
  if (kind === 'value') return new InvalidUsage('A value does not fit its field', { cause });
  if (kind === 'policy') return new Forbidden(undefined, { cause });
  const options = details.length === 0 ? { cause } : { cause, details };
  if (kind === 'exclusion') return new TargetObjectAlreadyExist('The record excludes another one', options);
  if (kind === 'unique') return new TargetObjectAlreadyExist('Another record has this value already', options);
  if (isDestroy) return new TargetObjectAlreadyExist('Other records refer to this one', options);
  return details.length > 0
    ? new TargetObjectAlreadyExist('The record refers to another that is gone', options)
    : new TargetObjectAlreadyExist('Other records refer to this one, or it refers to one that is gone', options);
}

const MESSAGES: Readonly<Partial<Record<Violation['kind'], string>>> = {
  unique: 'is taken',
  exclusion: 'conflicts with another record',
  'foreign key': 'refers to a record that is gone',
};

function detailsOf({ path }: WrittenRecord, names: readonly string[], { kind }: Violation): ErrorDetail[] {
  const message = MESSAGES[kind];
  if (message === undefined) return [];
  return names.map((name) => ({ in: 'body', path: path + pointerStep(name), message }));
}

/** The fields of a body whose columns a constraint names. A foreign key of another table is no field of the body. */
function namedFields({ meta, values }: WrittenRecord, { table, columns }: Violation): string[] {
  if (table !== meta.tableName) return [];
  return meta.props
    .filter(({ name, fieldNames }) => {
      const isNamed = fieldNames?.some((column) => namesColumn(columns, column)) ?? false;
      return isNamed && values[name] !== undefined && Object.hasOwn(values, name);
    })
    .map(({ name }) => name);
}

/** Looks for a whole word: an index may be on an expression, `lower(email::text)`. */
function namesColumn(columns: string, column: string): boolean {
  return columns.split(/[^\p{L}\p{N}_$]+/u).includes(column);
}
