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

/** The query string of a request. */
export function parametersOf(request: FastifyRequest): QueryParameters {
  const state = stateOf(request);
  return (state.parameters ??= new QueryParameters(request.query));
}
