import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { HttpError } from '../../errors.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import { compare } from '../../language/compare.ts';
import { violationOf } from '../../query/known-errors.ts';
import { QuerySet } from '../../query/queryset.ts';
import { MAX_PROBLEMS } from '../../schema/scan-input.ts';
import { stateOf } from '../request/request-state.ts';

/** A column by which a request names records of an entity. */
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
 * Looks records up by values of a request. If the database refuses one of the values as none of the column's type (`inet`, `ltree`), the
 * request is answered by an error about those that are refused.
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

/** Tells if an error is the database's refusal of one of the keys, as a value that its column cannot have. */
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

/** Finds the values that the database refuses, up to `MAX_PROBLEMS`. It does not say which, but it can be asked, of the halves of a list. */
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

/** Tells if the database refuses to compare a column with values. They alone are asked about, so that no value of the program is blamed on a client. */
async function refuses(em: EntityManager, { meta, column }: NamingColumn, named: readonly Valued[]): Promise<boolean> {
  const values = named.map(({ value }) => value);
  try {
    await QuerySet.of(em, meta.class)
      .withFilters(false)
      .where(compare(column, 'in', values))
      .exists();
    return false;
  } catch (error) {
    return isRefusal(error);
  }
}
