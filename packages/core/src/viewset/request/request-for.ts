import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import { mayHaveBody } from '../../methods.ts';
import { REQUEST_STATE, type RequestState, stateOf } from './request-state.ts';

/** An operation that is asked about in the place of the one that a request is for. */
export interface AskedOperation {
  /** The plan of its route; undefined if it has none. */
  readonly plan: FastifyContextConfig['viewset'];
  readonly method: string;
  readonly params: Readonly<Record<string, string>>;
  /** The key of its record, as it was read; undefined if there is none, or none yet. */
  readonly pk?: unknown;
  /** Hears that somebody has looked at the body or the query string, of which nothing is known. */
  readonly onInputRead?: () => void;
}

/**
 * Makes a request for another operation, by the same user and with the same entity manager: for permissions and hooks to be asked
 * what they would say to it. It has no query string, and the body that it takes is empty, `{}` or `[]`: permissions may look into it. The request
 * leaves nothing on the request that it is made of.
 */
export function requestFor(
  request: FastifyRequest,
  { plan, method, params, pk, onInputRead }: AskedOperation,
): FastifyRequest {
  const outer = stateOf(request);
  const state = Object.create(outer, {
    em: {
      get: () => outer.em,
      set: (em: typeof outer.em) => {
        outer.em = em;
      },
    },
    grant: { value: undefined, writable: true },
    pk: { value: pk, writable: true },
    parameters: { value: undefined, writable: true },
    object: { value: undefined, writable: true },
    answers: { value: undefined, writable: true },
    inputShapes: { value: undefined, writable: true },
  }) as RequestState;
  const body = mayHaveBody(method) ? emptyBody(plan) : undefined;
  const query = {};
  const heard = <Value>(value: Value) => ({
    get: (): Value => {
      onInputRead?.();
      return value;
    },
  });
  return Object.create(request, {
    [REQUEST_STATE]: { value: state },
    method: { value: method },
    params: { value: params },
    query: heard(query),
    body: heard(body),
    routeOptions: { get: () => ({ ...request.routeOptions, config: { viewset: plan } }) },
  }) as FastifyRequest;
}

/**
 * Makes a request that is the same in all, for what has to be read as if it had not been: what it leaves, entities in their manager
 * included, is not on the request that it is made of.
 */
export function requestApart(request: FastifyRequest): FastifyRequest {
  const outer = stateOf(request);
  const state = Object.create(outer, { em: { value: outer.em?.fork(), writable: true } }) as RequestState;
  return Object.create(request, { [REQUEST_STATE]: { value: state } }) as FastifyRequest;
}

/**
 * Makes a request that is the same in all, and of which nothing has been decided yet: who sent it, what it may see, and how it is answered. It
 * reads the last committed state.
 */
export function requestAgain(request: FastifyRequest): FastifyRequest {
  const outer = stateOf(request);
  const unknown = { value: undefined, writable: true };
  const state = Object.create(outer, {
    em: { value: outer.em?.fork(), writable: true },
    user: { value: outer.user, writable: true },
    challenge: { value: null, writable: true },
    grant: unknown,
    object: unknown,
    answers: unknown,
    boundAnswers: unknown,
    lookUps: unknown,
    refusal: unknown,
    unread: unknown,
  }) as RequestState;
  return Object.create(request, {
    [REQUEST_STATE]: { value: state },
    readsPrimary: { value: true },
  }) as FastifyRequest;
}

function emptyBody(plan: AskedOperation['plan']): unknown {
  const { type } = (plan?.body?.schema ?? {}) as { readonly type?: unknown };
  return type === 'array' ? [] : {};
}
