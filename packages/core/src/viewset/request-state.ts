import type { FastifyRequest } from 'fastify';
import { QueryParameters } from '../parameters.ts';
import type { PermissionGrant } from '../permissions/evaluate.ts';

const STATE = Symbol('viewset.state');

/** What the steps of one request to a viewset leave for the later ones. */
export interface RequestState {
  /** What the view's permissions granted; undefined where the view declares none. */
  grant: PermissionGrant | undefined;
  /** The primary key of the path, read as the key's type; undefined on the collection. */
  pk: unknown;
  parameters: QueryParameters | undefined;
  /** The record that the request acts on, once it has been looked up. */
  object: object | undefined;
}

interface Stateful {
  [STATE]?: RequestState | null;
}

/** The request decorator that the plugin declares, so that every request has the same hidden class. */
export const REQUEST_STATE: symbol = STATE;

export function stateOf(request: FastifyRequest): RequestState {
  const stateful = request as FastifyRequest & Stateful;
  return (stateful[STATE] ??= { grant: undefined, pk: undefined, parameters: undefined, object: undefined });
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
