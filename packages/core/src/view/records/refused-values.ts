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
 * @param answer makes the error
 */
export async function lookUpBy<Named extends Valued, Found>(
  request: FastifyRequest,
  column: NamingColumn,
  named: readonly Named[],
  answer: (refused: readonly Named[]) => HttpError,
  lookUp: () => Promise<Found>,
): Promise<Found> {
  try {
    return await lookUp();
  } catch (error) {
    if (isRefusal(error)) {
      stateOf(request).refusal = {
        error,
        answer: async () => {
          const refused = await refusedAmong(request.em, column, named);
          return refused.length === 0 ? error : answer(refused);
        },
      };
    }
    throw error;
  }
}

/** Reports whether an error means that the database rejected one of the keys as malformed for its column. */
export async function refusesKey(
  request: FastifyRequest,
  error: unknown,
  keysOf: () => readonly PathKey[],
): Promise<boolean> {
  if (!isRefusal(error)) return false;
  for (const key of keysOf()) if (await refuses(request.em, key, [key])) return true;
  return false;
}

function isRefusal(error: unknown): boolean {
  return violationOf(error)?.kind === 'value';
}

/**
 * Finds the values that the database rejects, up to `MAX_PROBLEMS`. Its error does not name them, so this bisects the
 * list.
 */
async function refusedAmong<Named extends Valued>(
  em: EntityManager,
  column: NamingColumn,
  named: readonly Named[],
  most = MAX_PROBLEMS,
): Promise<readonly Named[]> {
  if (most <= 0 || !(await refuses(em, column, named))) return [];
  if (named.length === 1) return named;
  const half = named.length >> 1;
  const first = await refusedAmong(em, column, named.slice(0, half), most);
  return [...first, ...(await refusedAmong(em, column, named.slice(half), most - first.length))];
}

/**
 * Reports whether the database rejects a comparison of a column with values. The query contains only these values, so
 * clients are not blamed for values of the program.
 */
async function refuses(em: EntityManager, { meta, column }: NamingColumn, named: readonly Valued[]): Promise<boolean> {
  const values = named.map(({ value }) => value);
  try {
    await QuerySet.of(em, meta.class)
      .unfiltered()
      .where(compare(column, 'in', values))
      .exists();
    return false;
  } catch (error) {
    return isRefusal(error);
  }
}
