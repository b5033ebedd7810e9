import type { FastifyReply, FastifyRequest, preHandlerHookHandler, RouteOptions } from 'fastify';
import { Type } from 'typebox';
import { PreconditionFailed } from '../errors.ts';
import { namesAny, type TagOf } from '../entity-tag.ts';
import { isRecord } from '../json.ts';
import { readCondition } from '../read-condition.ts';
import { isSuccess } from '../status.ts';
import type { ViewDefinition } from '../viewset/setup/view-definition.ts';
import type { Preconditions } from '../viewset/writes/writing-definition.ts';
import type { OperationParameter, OperationPlan } from './operation-plan.ts';
import { rowOf } from '../viewset/request/operation.ts';

const TAGS = 'entity tags, separated by commas, or `*`';
const IF_NONE_MATCH = Type.String({
  description: `The ${TAGS}: if one of these tags matches the record, the response is 304 with no body`,
});
const IF_NONE_MATCH_OF_WRITE = Type.String({
  description: `The ${TAGS}: if one of these tags matches the record, nothing is written`,
});
const IF_MATCH = Type.String({
  description: `The ${TAGS}: if none of these tags matches the record, nothing is written`,
});

const COLLECTION_MATCH = Type.String({
  description: 'A collection has no entity tag: with any but `*` nothing is written',
});
const COLLECTION_NONE_MATCH = Type.String({ description: 'With `*` nothing is written, since the collection exists' });

/** A hook that sees a response before it is serialized. */
export type AnswerHook = Extract<NonNullable<RouteOptions['preSerialization']>, (...args: never) => unknown>;

/** An operation of a view. Operations on one record and on several share a name. */
interface Conditional {
  readonly action: string;
  readonly detail: boolean;
  readonly variant?: string | undefined;
  readonly preconditions?: Preconditions | undefined;
}

/** Reports whether the responses of an operation have an `ETag`. */
export function sendsTag({ action, detail, variant, preconditions }: Conditional): boolean {
  const isOne = detail || (action === 'create' && variant === undefined);
  return preconditions !== undefined && rowOf(action)?.returns === 'record' && isOne;
}

/**
 * Reports whether an operation belongs to a view of records without tags. A tag in `If-Match` then matches no record
 * (RFC 9110, section 13.1.1), so the client's write must not happen. Another plugin may have sent the tag.
 */
export function lacksTags(
  { action, detail, preconditions, isBuiltIn }: Conditional & { readonly isBuiltIn?: boolean },
  { overrides, key }: Pick<ViewDefinition, 'overrides' | 'key'>,
): boolean {
  if (preconditions !== undefined || isBuiltIn === undefined || overrides === undefined) return false;
  const row = rowOf(action);
  return row !== undefined && row.returns !== 'list' && (detail || key.singleton === undefined);
}

/** The conditional headers that an operation accepts. */
export function headerParameters(
  { action, detail, preconditions }: Conditional,
  isSingleton: boolean,
): OperationParameter[] {
  if (preconditions === undefined || action === 'list') return [];
  // Its `If-Match` is honoured as HTTP requires, but not documented, because readers have no use for it.
  if (action === 'retrieve') return [{ name: 'if-none-match', required: false, schema: IF_NONE_MATCH }];
  // A singleton has no collection, so its create takes no conditions.
  if (!detail && isSingleton) return [];
  if (!detail) {
    return [
      { name: 'if-match', required: false, schema: COLLECTION_MATCH },
      { name: 'if-none-match', required: false, schema: COLLECTION_NONE_MATCH },
    ];
  }
  return [
    { name: 'if-match', required: preconditions.isRequired, schema: IF_MATCH },
    { name: 'if-none-match', required: false, schema: IF_NONE_MATCH_OF_WRITE },
  ];
}

/**
 * Makes the hook that checks the conditions of a write to a collection. A collection exists and has no tag (RFC 9110,
 * sections 13.1.1 and 13.1.2). A client that sends the tag of a record means that record, and would otherwise change
 * others. Undefined for any other operation.
 *
 * @param isTagless true for an operation that `lacksTags`
 */
export function collectionCheck(plan: OperationPlan, isTagless: boolean): preHandlerHookHandler | undefined {
  const takesConditions = isTagless || plan.headerParameters.some(({ name }) => name === 'if-match');
  if (plan.detail || !takesConditions) return undefined;
  return ({ headers: { 'if-match': wanted = '*', 'if-none-match': unwanted } }, _reply, done) => {
    if (!namesAny(wanted)) return done(new PreconditionFailed('A collection has no entity tag; nothing was written'));
    const isUnwanted = unwanted !== undefined && namesAny(unwanted);
    done(isUnwanted ? new PreconditionFailed('The collection exists already; nothing was written') : undefined);
  };
}

/**
 * Makes the hook that sends the `ETag` of a record. A GET gives 304 without a body if its `If-None-Match` has the tag,
 * and 412 if its `If-Match` lacks it (RFC 9110, sections 13.1.1 and 13.2.2).
 *
 * @param isUnselected reports whether the response has the record as `retrieve` returns it; other forms have no tag
 */
export function tagAnswers(tagOf: TagOf, isUnselected: (request: FastifyRequest) => boolean): AnswerHook {
  return (request, reply, payload, done) => {
    if (!isRecord(payload) || ![200, 201].includes(reply.statusCode)) return done(null, payload);
    const text = serialized(reply, payload);
    if (text === undefined) return done(null, payload);
    const tag = isUnselected(request) ? tagOf(text) : undefined;
    const condition = readCondition(request, { tag });
    if (condition === 'failed') return done(new PreconditionFailed());
    const isKnown = condition === 'known';
    if (tag !== undefined) void reply.header('etag', tag);
    if (isKnown) void reply.code(304).removeHeader('content-type');
    // For HEAD, Fastify keeps the length of the body and drops the rest.
    const body = isKnown && request.method !== 'HEAD' ? null : text;
    void reply.serializer(() => body as string);
    done(null, payload);
  };
}

/** Gives 412 to a read request for a record without a tag if its `If-Match` names one. */
export const refuseTags: AnswerHook = (request, reply, payload, done) => {
  const isRefused = isSuccess(reply.statusCode) && readCondition(request, { tag: undefined }) === 'failed';
  if (isRefused) return done(new PreconditionFailed('The record has no entity tag'));
  done(null, payload);
};

/** Serializes a response. Undefined if it does not fit its schema; Fastify then reports that. */
function serialized(reply: FastifyReply, payload: Readonly<Record<string, unknown>>): string | undefined {
  try {
    const text: unknown = reply.serialize(payload);
    return typeof text === 'string' ? text : undefined;
  } catch {
    return undefined;
  }
}
