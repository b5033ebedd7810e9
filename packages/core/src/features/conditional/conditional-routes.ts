import type { preHandlerHookHandler, FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { namesAny } from '../../http/entity-tag.ts';
import { PreconditionFailed } from '../../errors/errors.ts';
import { isRecord } from '../../support/json.ts';
import { readCondition } from '../../http/read-condition.ts';
import { isSuccess } from '../../http/status.ts';
import { type OutputOperation, rowOf } from '../../view/request/operation.ts';
import type { ResponseHook, DeclaredRoute, HeaderParameter } from '../../view/setup/declared-route.ts';
import type { FeatureView } from '../../view/setup/feature.ts';

/** The preconditions of a view's operations on one record. */
export interface Preconditions {
  /** True if a write needs `If-Match`. */
  readonly isRequired: boolean;
}

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

/**
 * Adds entity tags, and the conditions of requests, to a route of an operation. If the view's records have no tags, a tag
 * in `If-Match` matches no record (RFC 9110, section 13.1.1): the route refuses it. Another plugin may have sent the tag.
 *
 * @param preconditions undefined if the view sends no tags
 */
export function conditionalRoute(
  route: DeclaredRoute,
  view: FeatureView,
  preconditions: Preconditions | undefined,
): DeclaredRoute {
  const { action, detail, variant, recordsAs } = route;
  const row = rowOf(action);
  // A list has no tag. A singleton has no collection, so its create takes no conditions.
  if (row === undefined || row.returns === 'list') return route;
  const onCollection = !detail && view.key.singleton === undefined ? checkCollection : undefined;
  if (preconditions === undefined) {
    if (!detail && onCollection === undefined) return route;
    return {
      ...route,
      tags: 'refused',
      beforeHandler: onCollection,
      beforeSending: recordsAs === 'retrieve' ? refuseTags : undefined,
    };
  }
  const isOne = detail || (action === 'create' && variant === undefined);
  const sendsTag = row.returns === 'record' && isOne;
  return {
    ...route,
    headerParameters: headerParameters(route, onCollection !== undefined, preconditions),
    beforeHandler: onCollection,
    ...(sendsTag && recordsAs !== undefined ? { tags: 'sent', beforeSending: tagRecords(view, recordsAs) } : {}),
  };
}

/** The conditional headers that an operation accepts. */
function headerParameters(
  { action, detail }: DeclaredRoute,
  isOnCollection: boolean,
  { isRequired }: Preconditions,
): readonly HeaderParameter[] {
  // Its `If-Match` is honoured as HTTP requires, but not documented, because readers have no use for it.
  if (action === 'retrieve') return [{ name: 'if-none-match', required: false, schema: IF_NONE_MATCH }];
  if (isOnCollection) {
    return [
      { name: 'if-match', required: false, schema: COLLECTION_MATCH },
      { name: 'if-none-match', required: false, schema: COLLECTION_NONE_MATCH },
    ];
  }
  if (!detail) return [];
  return [
    { name: 'if-match', required: isRequired, schema: IF_MATCH },
    { name: 'if-none-match', required: false, schema: IF_NONE_MATCH_OF_WRITE },
  ];
}

/**
 * Checks the conditions of a write to a collection. A collection exists and has no tag (RFC 9110, sections 13.1.1 and
 * 13.1.2). A client that sends the tag of a record means that record, and would otherwise change others.
 */
const checkCollection: preHandlerHookHandler = (request, _reply, done) => {
  const { 'if-match': wanted = '*', 'if-none-match': unwanted } = request.headers;
  if (!namesAny(wanted)) return done(new PreconditionFailed('A collection has no entity tag; nothing was written'));
  const isUnwanted = unwanted !== undefined && namesAny(unwanted);
  done(isUnwanted ? new PreconditionFailed('The collection exists already; nothing was written') : undefined);
};

/**
 * Makes the hook that sends the `ETag` of a record. A GET gives 304 without a body if its `If-None-Match` has the tag,
 * and 412 if its `If-Match` lacks it (RFC 9110, sections 13.1.1 and 13.2.2). Only the record as `retrieve` returns it has
 * a tag.
 */
function tagRecords({ outputs, defaults: { tagOf } }: FeatureView, operation: OutputOperation): ResponseHook {
  return (request, reply, payload, done) => {
    if (!isRecord(payload) || ![200, 201].includes(reply.statusCode)) return done(null, payload);
    const text = serialized(reply, payload);
    if (text === undefined) return done(null, payload);
    const tag = outputs.isUnselected(request, operation) ? tagOf(text) : undefined;
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
const refuseTags: ResponseHook = (request, reply, payload, done) => {
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
