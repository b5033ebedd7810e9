import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { Type } from 'typebox';
import { entityTag, namesTag } from '../entity-tag.ts';
import { isRecord } from '../json.ts';
import type { Preconditions } from '../viewset/view-definition.ts';
import type { OperationParameter } from './operation-plan.ts';

const TAGS = 'entity tags, separated by commas, or `*`';
const IF_NONE_MATCH = Type.String({ description: `The ${TAGS}: one of the record draws a 304 without a body` });
const IF_NONE_MATCH_OF_WRITE = Type.String({ description: `The ${TAGS}: with one of the record nothing is written` });
const IF_MATCH = Type.String({ description: `The ${TAGS}: without the one of the record nothing is written` });

/** Sees an answer before it is serialized. */
export type AnswerHook = Extract<NonNullable<RouteOptions['preSerialization']>, (...args: never) => unknown>;

/** The operations that answer with one record. */
const ANSWERS_RECORD: ReadonlySet<string> = new Set(['retrieve', 'create', 'update']);

/** Tells if an operation of a view answers with an `ETag`. */
export function sendsTag(preconditions: Preconditions | undefined, operation: string): boolean {
  return preconditions !== undefined && ANSWERS_RECORD.has(operation);
}

/** The headers that an operation of a view takes. */
export function headerParameters(preconditions: Preconditions | undefined, operation: string): OperationParameter[] {
  if (preconditions === undefined) return [];
  if (operation === 'retrieve') return [{ name: 'if-none-match', required: false, schema: IF_NONE_MATCH }];
  if (operation !== 'update' && operation !== 'destroy') return [];
  return [
    { name: 'if-match', required: preconditions.isRequired, schema: IF_MATCH },
    { name: 'if-none-match', required: false, schema: IF_NONE_MATCH_OF_WRITE },
  ];
}

/**
 * Makes the hook that sends the `ETag` of a record, and in the place of one that a GET's `If-None-Match` names a 304 without a
 * body.
 */
export function tagAnswers(representationOf: (request: FastifyRequest) => string): AnswerHook {
  return (request, reply, payload, done) => {
    if (!isRecord(payload) || ![200, 201].includes(reply.statusCode)) return done(null, payload);
    const text = serialized(reply, payload);
    if (text === undefined) return done(null, payload);
    const tag = entityTag(text, representationOf(request));
    void reply.header('etag', tag);
    const known = request.headers['if-none-match'];
    const isHead = request.method === 'HEAD';
    const isRead = isHead || request.method === 'GET';
    const isKnown = isRead && known !== undefined && namesTag(known, tag, 'weak');
    if (isKnown) void reply.code(304).removeHeader('content-type');
    // Of an answer to HEAD, Fastify takes the length and drops the rest.
    const body = isKnown && !isHead ? null : text;
    void reply.serializer(() => body as string);
    done(null, payload);
  };
}

/** Writes an answer as it is sent; undefined for one that does not fit its schema, which Fastify then finds. */
function serialized(reply: FastifyReply, payload: Readonly<Record<string, unknown>>): string | undefined {
  try {
    const text: unknown = reply.serialize(payload);
    return typeof text === 'string' ? text : undefined;
  } catch {
    return undefined;
  }
}
