import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { HttpError } from '../../errors/errors.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import { compare } from '../../query/language/compare.ts';
import { violationOf } from '../../query/known-errors.ts';
import { QuerySet } from '../../query/queryset.ts';
import { MAX_PROBLEMS } from '../../schema/scan-input.ts';
import { stateOf } from '../request/request-state.ts';

/** A column whose values identify records in requests. */
export interface NamingColumn {
  readonly meta: EntityMetadata;
  readonly column: FieldPath;
}

/** A key of a request's path. */
export interface PathKey extends NamingColumn {
  readonly value: unknown;
}

interface Valued {
  readonly value: unknown;
}

/**
 * Looks up records by values of a request. If the database rejects a value as malformed for the column (`inet`,
 * `ltree`), the client gets an error about the rejected values.
 *
 * @param errorFor makes the error
 */
export async function lookUpSent<Named extends Valued, Found>(
  request: FastifyRequest,
  column: NamingColumn,
  named: readonly Named[],
  errorFor: (refused: readonly Named[]) => HttpError,
  lookUp: () => Promise<Found>,
): Promise<Found> {
  try {
    return await lookUp();
  } catch (error) {
    if (isRejection(error)) {
      stateOf(request).rejection = {
        error,
        errorToSend: async () => {
          const refused = await rejectedAmong(request.em, column, named);
          return refused.length === 0 ? error : errorFor(refused);
        },
      };
    }
    throw error;
  }
}

/** Reports whether an error means that the database rejected one of the keys as malformed for its column. */
export async function rejectsKey(
  request: FastifyRequest,
  error: unknown,
  keysOf: () => readonly PathKey[],
): Promise<boolean> {
  if (!isRejection(error)) return false;
  for (const key of keysOf()) if (await rejects(request.em, key, [key])) return true;
  return false;
}

function isRejection(error: unknown): boolean {
  return violationOf(error)?.kind === 'value';
}

/**
 * Finds the values that the database rejects, up to `MAX_PROBLEMS`. Its error does not name them, so this bisects the
 * list.
 */
async function rejectedAmong<Named extends Valued>(
  em: EntityManager,
  column: NamingColumn,
  named: readonly Named[],
  most = MAX_PROBLEMS,
): Promise<readonly Named[]> {
  if (most <= 0 || !(await rejects(em, column, named))) return [];
  if (named.length === 1) return named;
  const half = named.length >> 1;
  const first = await rejectedAmong(em, column, named.slice(0, half), most);
  return [...first, ...(await rejectedAmong(em, column, named.slice(half), most - first.length))];
}

/**
 * Reports whether the database rejects a comparison of a column with values. The query contains only these values, so
 * clients are not blamed for values of the program.
 */
async function rejects(em: EntityManager, { meta, column }: NamingColumn, named: readonly Valued[]): Promise<boolean> {
  const values = named.map(({ value }) => value);
  try {
    await QuerySet.of(em, meta.class)
      .unfiltered()
      .where(compare(column, 'in', values))
      .exists();
    return false;
  } catch (error) {
    return isRejection(error);
  }
}
