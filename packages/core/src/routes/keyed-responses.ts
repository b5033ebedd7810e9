import type { FastifyReply, FastifyRequest, preValidationHookHandler } from 'fastify';
import { isPromise } from '../support/awaitable.ts';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { StagedFile } from '../files/staged-file.ts';
import { isRecord } from '../support/json.ts';
import type { SentAnswer } from '../view/setup/idempotency.ts';
import type { ResponseHook, OperationHandler } from '../view/setup/declared-route.ts';
import type { PlannedRoute } from './plan-view.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

/** The bodies of requests with a key, as sent. */
const sent = new WeakMap<FastifyRequest, unknown>();

/** Makes the hook that stores the body of a request before it is read. Undefined if the route accepts no key. */
export function rememberBody({ plan, idempotency }: PlannedRoute): preValidationHookHandler | undefined {
  if (idempotency === undefined || plan.idempotency === undefined) return undefined;
  return (request, _reply, done) => {
    sent.set(request, request.body);
    done();
  };
}

/**
 * Makes a handler respond to requests with an `Idempotency-Key` through the plugin's option `idempotency`. Responses
 * are serialized before the transaction ends, so that they can be stored in it.
 *
 * @param beforeSerialization the library's hooks that then see a response, before the action's hooks
 */
export function respondByKey(
  { plan, idempotency, hooks }: PlannedRoute,
  handler: OperationHandler,
  beforeSerialization: readonly ResponseHook[],
): OperationHandler {
  if (idempotency === undefined || plan.idempotency === undefined) return handler;
  const isRequired = plan.idempotency === 'required';
  const all = [...beforeSerialization, ...[hooks.preSerialization ?? []].flat()] as ResponseHook[];
  return async (request, reply) => {
    const key = idempotency.keyOf(request, isRequired);
    if (key === undefined) return handler(request, reply);
    const content = await contentOf(request);
    // Not in `run`: it runs again after a lost race, and the reply then has the headers of the first run.
    const before = { ...reply.getHeaders() };
    const run = (): Promise<SentAnswer> => serializedResponse(handler, all, request, reply, before);
    const { status, headers, body } = await idempotency.answer({ request, key, content }, run);
    return reply.code(status).headers(headers).send(body);
  };
}

/** Combines everything that a handler reads of a request into one text. */
async function contentOf(request: FastifyRequest): Promise<string> {
  const body = sent.get(request);
  const parts = isRecord(body) ? Object.entries(body) : [];
  const digests = await Promise.all(
    parts.map(async ([name, value]) => (value instanceof StagedFile ? { [name]: await value.digest() } : {})),
  );
  return JSON.stringify([request.params, request.query, body, digests], (_name, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}

/**
 * Runs a handler, and serializes its response as Fastify would send it.
 *
 * @param before the headers that the reply had before the handler, which do not belong to the response
 */
async function serializedResponse(
  handler: OperationHandler,
  hooks: readonly ResponseHook[],
  request: FastifyRequest,
  reply: FastifyReply,
  before: Readonly<Record<string, unknown>>,
): Promise<SentAnswer> {
  const held = heldReply(reply, request);
  const returned = await handler(request, held.reply);
  const payload = returned === undefined || returned === held.reply ? held.sent() : returned;
  if (payload instanceof Error) throw payload;
  const body = await bodyOf(payload, hooks, request, held.reply);
  // Cookies are not repeated. The first response has them on its reply.
  const isChanged = ([name, value]: [string, unknown]): boolean => name !== 'set-cookie' && value !== before[name];
  const changed = Object.entries(reply.getHeaders()).filter(isChanged);
  const headers = Object.fromEntries(changed) as SentAnswer['headers'];
  const isJson = typeof payload !== 'string' && typeof body === 'string' && !reply.hasHeader('content-type');
  return {
    status: held.reply.statusCode,
    headers: isJson ? { ...headers, 'content-type': JSON_TYPE } : headers,
    body,
  };
}

/** Makes a reply that stores the payload instead of sending it. */
function heldReply(reply: FastifyReply, request: FastifyRequest): { reply: FastifyReply; sent: () => unknown } {
  let payload: unknown;
  const held = Object.create(reply, {
    // A reply can be awaited until it is sent. This one is never sent.
    // oxlint-disable-next-line unicorn/no-thenable -- what hides a then is none
    then: { value: undefined },
    send: {
      value: (given: unknown) => {
        payload = given;
        return held;
      },
    },
    hijack: {
      value: () => {
        throw unstorable(request, 'sends its answer past Fastify');
      },
    },
  }) as FastifyReply;
  return { reply: held, sent: () => payload };
}

async function bodyOf(
  payload: unknown,
  hooks: readonly ResponseHook[],
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<SentAnswer['body']> {
  if (payload === undefined || payload === null) return null;
  if (typeof payload === 'string' || Buffer.isBuffer(payload)) return payload;
  if (ArrayBuffer.isView(payload)) return Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  const { pipe, getReader } = payload as { readonly pipe?: unknown; readonly getReader?: unknown };
  if (typeof pipe === 'function' || typeof getReader === 'function' || payload instanceof Response) {
    throw unstorable(request, 'answers with a stream');
  }
  let changed: unknown = payload;
  for (const hook of hooks) changed = await hooked(hook, request, reply, changed);
  return reply.serialize(changed) as SentAnswer['body'];
}

function hooked(hook: ResponseHook, request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const done = (error?: Error | null, value?: unknown): void => (error ? reject(error) : resolve(value));
    const pending: unknown = hook.call(request.server, request, reply, payload, done);
    if (isPromise(pending)) pending.then(resolve, reject);
  });
}

function unstorable({ routeOptions }: FastifyRequest, what: string): ImproperlyConfigured {
  const { operationId = '' } = routeOptions.config.viewset ?? {};
  return new ImproperlyConfigured(
    `${operationId} ${what}, which cannot be stored for an Idempotency-Key; set its option "idempotency" to "off"`,
  );
}
