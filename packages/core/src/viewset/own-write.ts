import type { EntityMetadata } from '@mikro-orm/core';
import { type Awaitable, settle } from '../awaitable.ts';
import { type Violation, violationOf } from '../backends/database-errors.ts';
import { type ErrorDetail, type HttpError, InvalidUsage, TargetObjectAlreadyExist } from '../errors.ts';
import { pointerStep } from '../json.ts';

/** The answers to errors that the write of a view's own record met; the errors themselves stay as they are for hooks. */
const answers = new WeakMap<object, HttpError>();

/** The answer to an error of a view's own write. Undefined for any other error, which is no fault of the client's. */
export function ownWriteAnswer(error: unknown): HttpError | undefined {
  return typeof error === 'object' && error !== null ? answers.get(error) : undefined;
}

/**
 * Runs the statement that writes a view's own record. A value that the database refuses there came from the client, so
 * the error is answered as a 409 or 400 that names the fields of the body which are at fault.
 *
 * @param sent the body, or undefined if the operation has none
 */
export function ownWrite<Result>(
  meta: EntityMetadata,
  sent: unknown,
  work: () => Awaitable<Result>,
): Awaitable<Result> {
  return settle(
    work,
    (result) => result,
    (error) => {
      const violation = violationOf(error);
      if (violation !== undefined && isAbout(meta, violation)) {
        answers.set(error as object, answerOf(meta, sent, violation, error));
      }
      throw error;
    },
  );
}

/** Tells if a violation is the record's own. A hook may have left other changes to be written along with it. */
function isAbout({ tableName }: EntityMetadata, { kind, table }: Violation): boolean {
  // The constraint on a record that others refer to is theirs.
  return kind === 'foreign key' || table === undefined || table === tableName;
}

function answerOf(meta: EntityMetadata, sent: unknown, violation: Violation, cause: unknown): HttpError {
  const { kind } = violation;
  if (kind === 'check') return new InvalidUsage('A value breaks a rule of the database', { cause });
  if (kind === 'value') return new InvalidUsage('A value does not fit its field', { cause });
  const message = kind === 'unique' ? 'is taken' : 'refers to a record that is gone';
  const details = fieldsAtFault(meta, sent, violation).map((name): ErrorDetail => ({
    in: 'body',
    path: pointerStep(name),
    message,
  }));
  const options = details.length === 0 ? { cause } : { cause, details };
  return kind === 'unique'
    ? new TargetObjectAlreadyExist('Another record has this value already', options)
    : new TargetObjectAlreadyExist('Other records refer to this one, or it refers to one that is gone', options);
}

/** The fields of a body whose columns a constraint names. A foreign key of another table is no field of the body. */
function fieldsAtFault(meta: EntityMetadata, sent: unknown, { table, columns }: Violation): string[] {
  if (typeof sent !== 'object' || sent === null || table !== meta.tableName) return [];
  return meta.props
    .filter(({ name, fieldNames }) => {
      const isNamed = fieldNames?.some((column) => namesColumn(columns, column)) ?? false;
      return isNamed && (sent as Record<string, unknown>)[name] !== undefined && Object.hasOwn(sent, name);
    })
    .map(({ name }) => name);
}

/** Looks for a whole word: an index may be on an expression, `lower(email::text)`. */
function namesColumn(columns: string, column: string): boolean {
  return columns.split(/[^\p{L}\p{N}_$]+/u).includes(column);
}
