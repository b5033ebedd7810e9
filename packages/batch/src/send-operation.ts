import { exactJson, type HttpError, ImproperlyConfigured, RequestPart, toHttpError } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import inject, { type InjectOptions, type Response } from 'light-my-request';
import type { BatchAnswer, BatchOperation } from './operation.ts';

/** An operation with resolved references. */
export interface ReadyOperation extends Pick<BatchOperation, 'method' | 'headers'> {
  /** The full path with its query. */
  readonly url: string;
  readonly body?: unknown;
}

/** The answer of an operation, with everything known about it. */
export interface SentOperation extends BatchAnswer {
  /** The bytes of the body. */
  readonly bytes: number;
  readonly allHeaders: Readonly<Record<string, string>>;
  /**
   * The error of the operation, because the body may be in the application's own format. Undefined if it did not fail,
   * or if there is only a response.
   */
  readonly error: HttpError | undefined;
}

/** Headers that only concern the batch itself: its body, connection and conditions. */
const OF_BATCH: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'expect',
  'idempotency-key',
  'keep-alive',
  'proxy-connection',
  'range',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const SENT_HEADERS: ReadonlySet<string> = new Set(['location', 'etag']);
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/i;

/** Sends an operation to the application as part of the batch's request, and waits for the answer. */
export async function sendOperation(
  outer: FastifyRequest,
  operation: ReadyOperation,
  how: { readonly isCounted: boolean; readonly isOnlyChecked: boolean },
): Promise<SentOperation> {
  const part = new RequestPart({ outer, ...how });
  const answer = await part.send((claim) =>
    inject(
      (raw, response) => {
        claim(raw);
        // An operation uses the batch's socket, so it has the same client address and encryption.
        Object.assign(raw, { socket: outer.raw.socket, url: operation.url });
        outer.server.routing(raw, response);
      },
      optionsOf(outer, operation),
    ),
  );
  const { statusCode: status } = answer;
  if (!part.isAdmitted && status < 400) {
    throw new ImproperlyConfigured(`${operation.method} ${operation.url} is a route outside of the plugin "viewset"`);
  }
  const allHeaders = Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]));
  const headers = Object.fromEntries(Object.entries(allHeaders).filter(([name]) => SENT_HEADERS.has(name)));
  const error = part.error === undefined ? undefined : toHttpError(part.error);
  return { status, headers, ...bodyOf(answer, operation), bytes: answer.rawPayload.length, allHeaders, error };
}

function optionsOf(outer: FastifyRequest, { method, url, headers = {}, body }: ReadyOperation): InjectOptions {
  const inherited = Object.entries(outer.headers).filter(
    ([name, value]) => value !== undefined && !isOfBatch(name),
  ) as [string, string | string[]][];
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const hasBody = body !== undefined;
  // HTTP/2 sends the host in its own header.
  const { ':authority': authority, host = authority } = outer.headers;
  return {
    method,
    url,
    validate: false,
    headers: {
      ...Object.fromEntries([...inherited, ...given]),
      ...(typeof host === 'string' && { host }),
      accept: 'application/json',
      ...(hasBody && { 'content-type': 'application/json' }),
    },
    ...(hasBody && { payload: exactJson.stringify(body) }),
  };
}

function isOfBatch(name: string): boolean {
  return OF_BATCH.has(name) || name.startsWith('content-') || name.startsWith('if-') || name.startsWith(':');
}

/** @throws ImproperlyConfigured for a success that is not JSON */
function bodyOf(answer: Response, { method, url }: ReadyOperation): { readonly body?: unknown } {
  const { payload, headers, statusCode } = answer;
  if (payload === '') return {};
  if (JSON_TYPE.test(String(headers['content-type']))) return { body: JSON.parse(payload) as unknown };
  if (statusCode >= 400) return { body: payload };
  throw new ImproperlyConfigured(
    `${method} ${url} answered with ${headers['content-type'] ?? 'no type'}, and a batch has only JSON; set its option "batchable" to false`,
  );
}
