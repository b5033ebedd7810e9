import type { FastifyContextConfig, FastifyRequest } from 'fastify';
import { mayHaveBody } from '../../http/methods.ts';
import { REQUEST_STATE, type RequestState, stateOf } from './request-state.ts';

/** The operation of a simulated request. */
export interface SimulatedOperation {
  /** The plan of its route; undefined if it has none. */
  readonly plan: FastifyContextConfig['viewset'];
  readonly method: string;
  readonly params: Readonly<Record<string, string>>;
  /** The parsed key of its record; undefined if there is none yet. */
  readonly pk?: unknown;
  /** Called if something reads the body or the query string, which are unknown. */
  readonly onInputRead?: () => void;
}

/**
 * Makes a request for another operation, with the same user and entity manager, to learn what permissions and hooks
 * would decide. It has no query string. Its body is empty, `{}` or `[]`, so that permissions can read it. It changes
 * nothing on the original request, except that it may create its entity manager.
 */
export function simulateRequest(
  request: FastifyRequest,
  { plan, method, params, pk, onInputRead }: SimulatedOperation,
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
    outputs: { value: undefined, writable: true },
    inputShapes: { value: undefined, writable: true },
  }) as RequestState;
  const body = mayHaveBody(method) ? emptyBody(plan) : undefined;
  const query = {};
  const observed = <Value>(value: Value) => ({
    get: (): Value => {
      onInputRead?.();
      return value;
    },
  });
  return Object.create(request, {
    [REQUEST_STATE]: { value: state },
    method: { value: method },
    params: { value: params },
    query: observed(query),
    body: observed(body),
    routeOptions: { get: () => ({ ...request.routeOptions, config: { viewset: plan } }) },
  }) as FastifyRequest;
}

/** Makes an isolated copy of a request. Its reads, and entities in its manager, do not reach the original request. */
export function forkRequest(request: FastifyRequest): FastifyRequest {
  const outer = stateOf(request);
  const state = Object.create(outer, { em: { value: outer.em?.fork(), writable: true } }) as RequestState;
  return Object.create(request, { [REQUEST_STATE]: { value: state } }) as FastifyRequest;
}

/**
 * Makes a copy of a request whose sender, permissions and answers are not decided yet. It reads the last committed
 * state.
 */
export function repeatRequest(request: FastifyRequest): FastifyRequest {
  const outer = stateOf(request);
  const unknown = { value: undefined, writable: true };
  const state = Object.create(outer, {
    em: { value: outer.em?.fork(), writable: true },
    user: { value: outer.user, writable: true },
    challenge: { value: null, writable: true },
    grant: unknown,
    object: unknown,
    outputs: unknown,
    boundOutputs: unknown,
    lookUps: unknown,
    refusal: unknown,
    unread: unknown,
  }) as RequestState;
  return Object.create(request, {
    [REQUEST_STATE]: { value: state },
    readsPrimary: { value: true },
  }) as FastifyRequest;
}

function emptyBody(plan: SimulatedOperation['plan']): unknown {
  const { type } = (plan?.body?.schema ?? {}) as { readonly type?: unknown };
  return type === 'array' ? [] : {};
}
