import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { PlacedViolation, Violation } from '../../backends/database-errors.ts';
import {
  type ErrorDetail,
  Forbidden,
  type HttpError,
  InvalidUsage,
  TargetObjectAlreadyExist,
} from '../../errors/errors.ts';
import { pointerStep } from '../../support/json.ts';
import { backendOf } from '../../query/backend-of.ts';
import { violationOf } from '../../query/known-errors.ts';
import { stateOf } from '../request/request-state.ts';
import type { WrittenRecord } from '../request/written-records.ts';
import type { BoundField } from '../../shapes/write/bound-input.ts';
import type { ConstraintMessage, ConstraintMessages } from './constraint-messages.ts';
import { type ConstrainedField, constrainedFields, valueOf } from './constrained-fields.ts';
import { takenRecords } from './taken-records.ts';

/** A record that may be at fault, and its properties that the constraint names. */
interface Suspect {
  readonly record: WrittenRecord;
  readonly fields: readonly ConstrainedField[];
}

/** The records of a request, and what its path sets. */
export interface Written {
  /** The records that the body writes. */
  readonly records: readonly WrittenRecord[];
  /** The relation that the path sets, and its parameter; undefined for a view that is not nested. */
  readonly parent: { readonly relation: string; readonly parameter: string } | undefined;
  /** The view's messages of constraints; undefined if it has none. */
  readonly messages: ConstraintMessages | undefined;
}

/**
 * Stores the error of a statement that wrote the view's own records, if the database has rejected a value. These values
 * came from the client, so the request can be answered with a client error.
 *
 * @param written lists the records that the body writes, the view's own first
 * @param isTheirs false if the statement may have written other records too. Then details need a query
 */
export function noteRejection(request: FastifyRequest, error: unknown, written: () => Written, isTheirs = true): void {
  const violation = violationOf(error);
  if (violation === undefined) return;
  const all = written();
  stateOf(request).rejection = { error, errorToSend: () => errorOfConflict(request, error, violation, all, isTheirs) };
}

/**
 * Returns a 400, 403 or 409 error, with the fields of the body at fault if they are known. The database does not report
 * which of several records is at fault, so this may query it. It may also report another table than the entity's, such
 * as a partition.
 */
async function errorOfConflict(
  request: FastifyRequest,
  error: unknown,
  violation: Violation,
  { records, parent, messages }: Written,
  isTheirs: boolean,
): Promise<unknown> {
  const em = managerAfter(request.em);
  const placed = await placeOfViolation(em, violation, [...new Set(records.map(({ meta }) => meta))]);
  const written = records.filter(({ meta }) => placed.metas.has(meta));
  const worded = messages?.of(violation, placed.metas, placed.columns);
  // The error may be about other changes of a hook. The constraint of a foreign key may belong to records that refer to
  // this one.
  if (written.length === 0 && violation.kind !== 'foreign key' && worded === undefined) return error;
  const suspects = written
    .map((record) => ({ record, fields: constrainedFields(record.meta, placed.columns) }))
    .filter((suspect) => maySuspect(suspect, violation));
  const isKnown = suspects.length < 2 && isTheirs;
  const atFault = isKnown ? suspects : await suspectsAtFault(em, suspects, violation);
  const details = atFault.flatMap((suspect) => detailsOf(suspect, violation.kind, parent));
  // All records of a list have the parent of the path.
  const distinct = new Map(details.map((detail) => [`${detail.in} ${detail.path}`, detail]));
  if (worded !== undefined) {
    const places = placesAtFault(records, atFault);
    return wordedError(violation, worded, { places, details: [...distinct.values()], cause: error });
  }
  return conflictError(violation, [...distinct.values()], error, records.length === 0);
}

/** Lists the places of the view's own records that may be at fault: the only one, or those that the suspects belong to. */
function placesAtFault(records: readonly WrittenRecord[], atFault: readonly Suspect[]): readonly string[] {
  const places = records.filter(({ owner }) => owner === undefined).map(({ path }) => path);
  if (places.length === 1) return places;
  return places.filter((place) => atFault.some(({ record }) => `${record.path}/`.startsWith(`${place}/`)));
}

/** Makes the error with the application's own message. Without a path, it names the fields of the constraint. */
function wordedError(
  { kind }: Violation,
  { message, path }: ConstraintMessage,
  known: { readonly places: readonly string[]; readonly details: readonly ErrorDetail[]; readonly cause: unknown },
): HttpError {
  const { places, cause } = known;
  const details: readonly ErrorDetail[] =
    path === undefined
      ? known.details.map((detail) => ({ ...detail, message }))
      : places.map((place) => ({ in: 'body', path: place + path, message }));
  const options = details.length === 0 ? { cause } : { cause, details };
  return kind === 'check' ? new InvalidUsage(message, options) : new TargetObjectAlreadyExist(message, options);
}

/** A new record may also have the value of a default, of its parent, or of the view. */
function maySuspect({ record, fields }: Suspect, { kind }: Violation): boolean {
  const isSent = fields.some((field) => valueOf(record.values, field) !== undefined);
  return isSent || (kind === 'unique' && fields.length > 0 && record.stored === undefined);
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

async function suspectsAtFault(
  em: EntityManager,
  suspects: readonly Suspect[],
  { kind }: Violation,
): Promise<readonly Suspect[]> {
  if (kind !== 'unique') return [];
  const found: Suspect[] = [];
  for (const meta of new Set(suspects.map(({ record }) => record.meta))) {
    const some = suspects.filter(({ record }) => record.meta === meta);
    const taken = await takenRecords(
      em,
      some.map(({ record }) => record),
      some[0]!.fields,
    );
    found.push(...some.filter(({ record }) => taken.includes(record)));
  }
  return found;
}

function conflictError(
  { kind }: Violation,
  details: readonly ErrorDetail[],
  cause: unknown,
  isDestroy: boolean,
): HttpError {
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

/**
 * Names the fields of the constraint that the body has. If it has none of them, names those that it may have, because
 * their defaults are taken. If there are none either, the place of the nested record is at fault, or the parent of the
 * path.
 */
function detailsOf({ record, fields }: Suspect, kind: Violation['kind'], parent: Written['parent']): ErrorDetail[] {
  const message = MESSAGES[kind];
  if (message === undefined) return [];
  const { values, path } = record;
  const sent = fields.filter((field) => valueOf(values, field) !== undefined);
  const named = sent.length > 0 ? sent : fields.filter((field) => placeOf(record.fields, field) !== undefined);
  if (named.length > 0) {
    return named.map((field) => {
      const place = placeOf(record.fields, field) ?? field.names.map(pointerStep).join('');
      return { in: 'body', path: path + place, message };
    });
  }
  const isTie = (relation: string | undefined): boolean => fields.some(({ property }) => property.name === relation);
  // The parent has another record already, for example one that a filter hides.
  if (record.owner !== undefined && isTie(record.owner)) return [{ in: 'body', path: record.path, message }];
  if (!isTie(parent?.relation)) return [];
  return [{ in: 'params', path: pointerStep(parent!.parameter), message }];
}

/** Returns the JSON pointer to the value of a property in the body of its record. Undefined if the body has no such. */
function placeOf(all: readonly BoundField[], { names }: ConstrainedField): string | undefined {
  let place: string | undefined;
  let parts: readonly BoundField[] | undefined = all;
  for (const name of names) {
    const field: BoundField | undefined = parts?.find((each) => each.name === name);
    if (field === undefined) return undefined;
    ({ path: place, parts } = field);
  }
  return place;
}
