import type { EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { NotFound } from '../errors/errors.ts';
import { stateOf } from '../view/request/request-state.ts';
import type { KeyDefinition } from '../view/records/record-key.ts';
import type { Parent } from '../view/records/parent.ts';
import { type PathKey, rejectsKey } from '../view/records/database-rejections.ts';
import type { OperationHandler } from '../view/setup/declared-route.ts';

/** The part of a route that determines which records its path identifies. */
interface NamingRoute {
  readonly meta: EntityMetadata | undefined;
  readonly key: KeyDefinition;
  readonly parent: Parent | undefined;
}

/** Lists the parsed keys in the path of a request. */
export function pathKeys({ meta, key: { column }, parent }: NamingRoute, request: FastifyRequest): readonly PathKey[] {
  const { pk: value } = stateOf(request);
  const ofRecord = meta === undefined || column === undefined || value === undefined ? [] : [{ meta, column, value }];
  return [...(parent?.keysOf(request) ?? []), ...ofRecord];
}

/**
 * Wraps a handler so that values rejected by the database give client errors, after the handler's transaction has
 * ended. A malformed key of the path gives 404. For other values, the failed statement has prepared the response. Other
 * errors are unchanged.
 */
export function withRejections(handler: OperationHandler, route: NamingRoute): OperationHandler {
  return (request, reply) => {
    const result = handler(request, reply);
    // A synchronous result had no rejected values: write operations return promises, and SQLite, which is synchronous,
    // rejects no key.
    if (!(result instanceof Promise)) return result;
    return result.catch(async (error: unknown) => {
      const keysOf = (): readonly PathKey[] => pathKeys(route, request);
      if (await rejectsKey(request, error, keysOf)) throw new NotFound(undefined, { cause: error });
      const { rejection } = stateOf(request);
      throw rejection !== undefined && rejection.error === error ? await rejection.errorToSend() : error;
    });
  };
}
