import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { namesColumn, type PlacedViolation, type Violation } from '../../backends/database-errors.ts';
import { type ErrorDetail, Forbidden, type HttpError, InvalidUsage, TargetObjectAlreadyExist } from '../../errors.ts';
import { fieldPath } from '../../fields/field-path.ts';
import { FieldValueError } from '../../fields/field-value-error.ts';
import { pointerStep } from '../../json.ts';
import { compare } from '../../language/compare.ts';
import { orderValues } from '../../language/projection.ts';
import { backendOf } from '../../query/backend-of.ts';
import { violationOf } from '../../query/known-errors.ts';
import { QuerySet } from '../../query/queryset.ts';
import { keyText } from '../../fields/primary-key.ts';
import { stateOf } from '../request/request-state.ts';
import type { WrittenRecord } from '../request/written-records.ts';

/**
 * Stores the error of a statement that wrote the view's own records, if the database has rejected a value. These values
 * came from the client, so the request can be answered with a client error.
 *
 * @param records lists the records that the body writes, the view's own first
 */
export function noteRefusal(request: FastifyRequest, error: unknown, records: () => readonly WrittenRecord[]): void {
  const violation = violationOf(error);
  if (violation === undefined) return;
  const written = records();
  stateOf(request).refusal = { error, answer: () => answerToConflict(request, error, violation, written) };
}

/**
 * Returns a 400, 403 or 409 error, with the fields of the body at fault if they are known. The database does not report
 * which of several records is at fault, so this may query it. It may also
 * report another table than the entity's, such as a partition.
 */
async function answerToConflict(
  request: FastifyRequest,
  error: unknown,
  violation: Violation,
  records: readonly WrittenRecord[],
): Promise<unknown> {
  const em = managerAfter(request.em);
  const placed = await placeOfViolation(em, violation, [...new Set(records.map(({ meta }) => meta))]);
  const written = records.filter(({ meta }) => placed.metas.has(meta));
  // The error may be about other changes of a hook. The constraint of a foreign key may belong to records that refer to
  // this one.
  if (written.length === 0 && violation.kind !== 'foreign key') return error;
  const { columns } = placed;
  const suspects = written.filter((record) => fieldsIn(record, columns).length > 0);
  const atFault = suspects.length > 1 ? await recordsAtFault(em, suspects, violation, columns) : suspects;
  const details = atFault.flatMap((record) => detailsOf(record, violation.kind, columns));
  return answerTo(violation, details, error, records.length === 0);
}

async function placeOfViolation(
  em: EntityManager,
  violation: Violation,
  metas: readonly EntityMetadata[],
): Promise<PlacedViolation> {
  const nowhere = { metas: new Set<EntityMetadata>(), columns: violation.columns };
  if (metas.length === 0) return nowhere;
  try {
    return await backendOf(em).placeViolation(em, violation, metas);
  } catch {
    // PostgreSQL answers no query in a transaction of the application in which the write has failed.
    return nowhere;
  }
}

/** Returns an entity manager to query after the failure. Without savepoints, the outer transaction has ended too. */
function managerAfter(em: EntityManager): EntityManager {
  return em.isInTransaction() && !backendOf(em).hasSavepoints ? em.fork() : em;
}

async function recordsAtFault(
  em: EntityManager,
  suspects: readonly WrittenRecord[],
  { kind }: Violation,
  columns: string,
): Promise<readonly WrittenRecord[]> {
  return kind === 'unique' ? takenRecords(em, suspects, fieldsIn(suspects[0]!, columns)) : [];
}

function answerTo({ kind }: Violation, details: readonly ErrorDetail[], cause: unknown, isDestroy: boolean): HttpError {
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

function detailsOf(record: WrittenRecord, kind: Violation['kind'], columns: string): ErrorDetail[] {
  const message = MESSAGES[kind];
  if (message === undefined) return [];
  return fieldsIn(record, columns).map((name) => ({ in: 'body', path: placeOf(record, name), message }));
}

/** Returns the JSON pointer to the value of a property in the body. */
function placeOf({ path, fields }: WrittenRecord, property: string): string {
  return path + (fields.find(({ name }) => name === property)?.path ?? pointerStep(property));
}

/** Returns the properties of a body whose columns a constraint names. */
function fieldsIn({ meta, values }: WrittenRecord, columns: string): string[] {
  return meta.props
    .filter(({ name, fieldNames }) => {
      const isNamed = fieldNames?.some((column) => namesColumn(columns, column)) ?? false;
      return isNamed && values[name] !== undefined && Object.hasOwn(values, name);
    })
    .map(({ name }) => name);
}

/**
 * Finds the records whose unique values are taken, by a stored record or by an earlier record of the list. All records
 * have the same entity. It runs one query, so use it only for errors.
 *
 * @param names the fields that are unique together
 */
async function takenRecords(
  em: EntityManager,
  records: readonly WrittenRecord[],
  names: readonly string[],
): Promise<WrittenRecord[]> {
  const { meta } = records[0]!;
  const keys = [...new Set(records.flatMap(({ stored }) => stored?.field ?? []))];
  const paths = [...keys, ...names].map((name) => fieldPath(meta, name, '.'));
  const [first] = names as readonly [string];
  const holders = new Map<string, Map<string, string>>();
  try {
    const values = records.map((record) => record.values[first]);
    // A record that a filter hides still occupies its values.
    const rows = await QuerySet.of(em, meta.class)
      .withFilters(false)
      .where(compare(paths[keys.length]!, 'in', values))
      .rows(orderValues(paths.map((path) => ({ path, descending: false }))));
    for (const row of rows) {
      const named = keys.map((key, index) => [key, keyText(row[index])] as const);
      holders.set(textOf(row.slice(keys.length)), new Map(named));
    }
  } catch (error) {
    // A reference by a field other than the key has a value of another type here.
    if (error instanceof FieldValueError) return [];
    throw error;
  }
  const seen = new Set<string>();
  return records.filter(({ values, stored }) => {
    const text = textOf(names.map((name) => values[name]));
    const holder = holders.get(text);
    const isOwn = stored !== undefined && holder?.get(stored.field) === keyText(stored.value);
    const isTaken = seen.has(text) || (holder !== undefined && !isOwn);
    seen.add(text);
    return isTaken;
  });
}

/** Joins values that are unique together into one text. */
function textOf(values: readonly unknown[]): string {
  return JSON.stringify(values.map(keyText));
}
