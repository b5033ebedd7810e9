import type { EntityManager } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { CurrentUser } from '../current-user.ts';
import { QueryParameters } from '../parameters.ts';
import type { PermissionGrant } from '../permissions/evaluate.ts';

/** What the steps of one request leave for the later ones. */
export interface RequestState {
  user: CurrentUser | null;
  challenge: string | null;
  /** The request's own entity manager, once somebody has asked for it. */
  em: EntityManager | undefined;
  /** What the view's permissions granted; undefined where the view declares none. */
  grant: PermissionGrant | undefined;
  /** The primary key of the path, read as the key's type; undefined on the collection. */
  pk: unknown;
  parameters: QueryParameters | undefined;
  /** The record that the request acts on, once it has been looked up, and the transaction that it was read in. */
  object: { readonly entity: object; readonly transaction: unknown } | undefined;
}

/** The one field that the plugin adds to requests: Fastify sets each that is declared with a value on every request. */
export const REQUEST_STATE: unique symbol = Symbol('viewset.state');

interface Stateful {
  [REQUEST_STATE]?: RequestState | null;
}

export function stateOf(request: FastifyRequest): RequestState {
  return ((request as FastifyRequest & Stateful)[REQUEST_STATE] ??= {
    user: null,
    challenge: null,
    em: undefined,
    grant: undefined,
    pk: undefined,
    parameters: undefined,
    object: undefined,
  });
}

/** The state of a request where there is any yet. */
export function knownStateOf(request: FastifyRequest): RequestState | null | undefined {
  return (request as FastifyRequest & Stateful)[REQUEST_STATE];
}

const AS_SENT = Symbol('viewset.query-as-sent');

/** What an action's handler gets for its query string: what its schema made of it, with the texts still at hand. */
export function withQueryAsSent(read: object, sent: object): object {
  return Object.defineProperty({ ...read }, AS_SENT, { value: sent });
}

/** The query string as Fastify parsed it, whatever a schema has made of it since. */
export function queryAsSent(request: FastifyRequest): object {
  const query = request.query as object & { [AS_SENT]?: object };
  return query[AS_SENT] ?? query;
}

/** The parameters of a request's query string. */
export function parametersOf(request: FastifyRequest): QueryParameters {
  const state = stateOf(request);
  return (state.parameters ??= new QueryParameters(queryAsSent(request)));
}
