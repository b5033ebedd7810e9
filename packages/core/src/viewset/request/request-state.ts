import type { EntityManager } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CurrentUser } from '../../current-user.ts';
import { QueryParameters } from '../../parameters.ts';
import type { PermissionGrant } from '../../permissions/evaluate.ts';
import type { Answer, AnsweringOperation } from './answer.ts';
import { type InputShape, inputAnew, type ReadInput, type TakingOperation } from './read-input.ts';
import type { SharedLookUps } from './shared-look-ups.ts';
import type { Projection } from '../../language/projection.ts';

/** An error of the database that the values of a request have caused. */
export interface Refusal {
  /** As the driver threw it, for hooks that catch it. */
  readonly error: unknown;
  /** Returns the error to answer with. May ask the database, and so is called once the transaction of the request has ended. */
  answer(): Promise<unknown>;
}

/** A record that a handler has made of an entity before what it shows of related records was read. */
export interface UnreadRecord {
  /** The object that the handler has. Its fields cannot be read until the handler is done. */
  readonly record: object;
  readonly entity: object;
  readonly projection: Projection<object>;
  /** The call that made it, for errors. */
  readonly who: string;
}

/** The values that the steps of one request leave for the later ones. */
export interface RequestState {
  user: CurrentUser | null;
  challenge: string | null;
  /** The request's own entity manager, once somebody has asked for it. */
  em: EntityManager | undefined;
  /** The grant of the view's permissions; undefined before they are asked, and if the view declares none. */
  grant: PermissionGrant | undefined;
  /** The key of the path, read as the type of the field that it is of; undefined on the collection. */
  pk: unknown;
  parameters: QueryParameters | undefined;
  /** The body, as it was read; undefined if no operation of a view of an entity takes it. */
  input: ReadInput | undefined;
  /** The last refusal that a statement of the library's own has met. */
  refusal: Refusal | undefined;
  /** The record that the request acts on, once it has been looked up, and the transaction that it was read in. */
  object: { readonly entity: object; readonly transaction: unknown } | undefined;
  /** The answers to the request that a view has decided on; undefined before it has. */
  answers: Partial<Record<AnsweringOperation, Answer | undefined>> | undefined;
  /** The write shapes that a view has chosen for the request; undefined before it has. */
  inputShapes: Partial<Record<TakingOperation, InputShape>> | undefined;
  /** The look-ups that requests made of this one share; undefined but for one that asks about several operations. */
  lookUps: SharedLookUps | undefined;
  /** The reply of the request, once something may have to ask a handler in its place. */
  reply: FastifyReply | undefined;
  /** Answers whose records tell of the request, by those that they were made of. */
  boundAnswers: Map<Answer, Answer> | undefined;
  /** The records that are read when the handler is done; undefined of a handler that reads none then. */
  unread: UnreadRecord[] | undefined;
}

/** The one field that the plugin adds to requests: Fastify sets each that is declared with a value on every request. */
export const REQUEST_STATE: unique symbol = Symbol('viewset.state');

interface Stateful {
  [REQUEST_STATE]?: RequestState | null;
}

/** Returns the state of a request, which is made when it is first asked for. */
export function stateOf(request: FastifyRequest): RequestState {
  return ((request as FastifyRequest & Stateful)[REQUEST_STATE] ??= {
    user: null,
    challenge: null,
    em: undefined,
    grant: undefined,
    pk: undefined,
    parameters: undefined,
    input: undefined,
    refusal: undefined,
    object: undefined,
    answers: undefined,
    inputShapes: undefined,
    lookUps: undefined,
    reply: undefined,
    boundAnswers: undefined,
    unread: undefined,
  });
}

/** The parameters of a request's query string, as it was sent: texts, whatever a schema makes of them. */
export function parametersOf(request: FastifyRequest): QueryParameters {
  const state = stateOf(request);
  return (state.parameters ??= new QueryParameters(request.query, undefined, request.params));
}

const NO_BODY = Object.freeze({});

/** The input of a request: its body, as it was read. */
export function inputOf(request: FastifyRequest): ReadInput {
  const { input } = stateOf(request);
  const body = (request.body ?? NO_BODY) as object;
  return input?.value === body ? input : inputAnew(body, input?.bodies);
}
