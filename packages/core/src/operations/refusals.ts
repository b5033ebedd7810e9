import type { EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { NotFound } from '../errors.ts';
import { stateOf } from '../viewset/request/request-state.ts';
import type { KeyDefinition } from '../viewset/visible/record-key.ts';
import type { Parent } from '../viewset/visible/parent.ts';
import { type PathKey, refusesKey } from '../viewset/visible/refused-values.ts';
import type { OperationHandler } from '../viewset/viewset.ts';

/** The part of a route that says which records its path names. */
interface NamingRoute {
  readonly meta: EntityMetadata | undefined;
  readonly key: KeyDefinition;
  readonly parent: Parent | undefined;
}

/** Lists the keys in the path of a request, as they were read. */
export function pathKeys({ meta, key: { column }, parent }: NamingRoute, request: FastifyRequest): readonly PathKey[] {
  const { pk: value } = stateOf(request);
  const own = meta === undefined || column === undefined || value === undefined ? [] : [{ meta, column, value }];
  return [...(parent?.keysOf(request) ?? []), ...own];
}

/**
 * Has a handler answer what the database refuses of a request's values by an error of the client's, once the transaction of the handler has
 * ended: 404 for a key of the path, and what the statement that was refused has left as the answer. Any other error stays as it is.
 */
export function answeringRefusals(handler: OperationHandler, route: NamingRoute): OperationHandler {
  return (request, reply) => {
    const answer = handler(request, reply);
    // What is known at once met no refusal: writes of the library are asynchronous, and SQLite, which answers at once, refuses no key.
    if (!(answer instanceof Promise)) return answer;
    return answer.catch(async (error: unknown) => {
      const keysOf = (): readonly PathKey[] => pathKeys(route, request);
      if (await refusesKey(request, error, keysOf)) throw new NotFound(undefined, { cause: error });
      const { refusal } = stateOf(request);
      throw refusal !== undefined && refusal.error === error ? await refusal.answer() : error;
    });
  };
}
