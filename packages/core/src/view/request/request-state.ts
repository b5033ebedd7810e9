import type { EntityManager } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CurrentUser } from '../../http/current-user.ts';
import { QueryParameters, splitterOf } from '../../http/parameters.ts';
import type { PermissionGrant } from '../../permissions/evaluate.ts';
import type { RecordOutput } from './record-output.ts';
import { type InputShape, inputAnew, type ReadInput } from './read-input.ts';
import type { SharedLookUps } from './shared-look-ups.ts';
import type { Projection } from '../../query/language/projection.ts';
import type { OutputOperation, InputOperation } from './operation.ts';

/** A database error that values of a request caused. */
export interface Rejection {
  /** The driver's error, for hooks that catch it. */
  readonly error: unknown;
  /**
   * Returns the error to send. It may query the database, so it is called after the request's transaction has ended.
   */
  errorToSend(): Promise<unknown>;
}

/** A body whose references are entities, with the values that the path and the view set. */
export interface ResolvedRecord {
  readonly data: object;
  /** The record to change; undefined for a new record. */
  readonly entity: object | undefined;
}

/** A record that a handler made from an entity before its related records were read. */
export interface DeferredRecord {
  /** The handler's object. Its fields can be read only after the handler has returned. */
  readonly record: object;
  readonly entity: object;
  readonly projection: Projection<object>;
  /** The call that made the record, for errors. */
  readonly who: string;
}

/** The values that the steps of one request share. */
export interface RequestState {
  user: CurrentUser | null;
  challenge: string | null;
  /** The request's own entity manager, once something has used it. */
  em: EntityManager | undefined;
  /** The grant of the view's permissions. Undefined before they are checked, and if the view has none. */
  grant: PermissionGrant | undefined;
  /** The key of the path, parsed as the type of its field; undefined on the collection. */
  pk: unknown;
  parameters: QueryParameters | undefined;
  /** The parsed body. Undefined unless an operation of a view of an entity reads it. */
  input: ReadInput | undefined;
  /** The resolved bodies of the request, by their JSON pointers. Undefined before that, and if one statement writes. */
  resolved: ReadonlyMap<string, ResolvedRecord> | undefined;
  /** The JSON pointer to the only body that is being written. Undefined if all are written at once. */
  writing: string | undefined;
  /** The last database error that the library's own statements caused. */
  rejection: Rejection | undefined;
  /** The record of the request, once it was looked up, and the transaction that read it. */
  object: { readonly entity: object; readonly transaction: unknown } | undefined;
  /** The outputs that a view has chosen for the request; undefined before that. */
  outputs: Partial<Record<OutputOperation, RecordOutput | undefined>> | undefined;
  /** The write shapes that a view has chosen for the request; undefined before that. */
  inputShapes: Partial<Record<InputOperation, InputShape>> | undefined;
  /** The look-ups that simulated requests share. Undefined unless the request asks about several operations. */
  lookUps: SharedLookUps | undefined;
  /** The reply of the request, from its handler on. */
  reply: FastifyReply | undefined;
  /** The outputs whose records depend on the request, by the outputs that they were made from. */
  boundOutputs: Map<RecordOutput, RecordOutput> | undefined;
  /** The records to read after the handler has returned. Undefined for a handler without them. */
  unread: DeferredRecord[] | undefined;
}

/** The only property that the plugin adds to requests, because Fastify sets each decorated value on every request. */
export const REQUEST_STATE: unique symbol = Symbol('viewset.state');

interface Stateful {
  [REQUEST_STATE]?: RequestState | null;
}

/** Returns the state of a request. The first call creates it. */
export function stateOf(request: FastifyRequest): RequestState {
  return ((request as FastifyRequest & Stateful)[REQUEST_STATE] ??= {
    user: null,
    challenge: null,
    em: undefined,
    grant: undefined,
    pk: undefined,
    parameters: undefined,
    input: undefined,
    resolved: undefined,
    writing: undefined,
    rejection: undefined,
    object: undefined,
    outputs: undefined,
    inputShapes: undefined,
    lookUps: undefined,
    reply: undefined,
    boundOutputs: undefined,
    unread: undefined,
  });
}

/** Returns the entity manager of a request if something has used it. Costs a request without one nothing. */
export function usedManager(request: FastifyRequest): EntityManager | undefined {
  return (request as FastifyRequest & Stateful)[REQUEST_STATE]?.em;
}

/** The parameters of a request's query string as they were sent: texts, before any schema. */
export function parametersOf(request: FastifyRequest): QueryParameters {
  const state = stateOf(request);
  return (state.parameters ??= new QueryParameters(
    request.query,
    undefined,
    request.params,
    splitterOf(request.raw.url ?? ''),
  ));
}

const NO_BODY = Object.freeze({});

/** The parsed body of a request. */
export function inputOf(request: FastifyRequest): ReadInput {
  const { input } = stateOf(request);
  const body = (request.body ?? NO_BODY) as object;
  return input?.value === body ? input : inputAnew(body, input?.bodies);
}
