import { exactJson, Forbidden, NotFound, type OperationPlan, partOf } from '@viewset/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import inject from 'light-my-request';
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';
import { ToolProblem } from './tool-problem.ts';

/**
 * The header that distinguishes a tool's request from requests that a hook sends meanwhile. Hooks after the guard do
 * not see it.
 */
const MARK = 'x-viewset-mcp';

/** Headers of the client's request that a tool's request also gets: credentials, proxies and language. */
const PASSED_ON = [
  'authorization',
  'host',
  'user-agent',
  'accept-language',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-real-ip',
  'x-request-id',
  'request-id',
  'traceparent',
  'tracestate',
];

/** The media type of event streams. They may never end, so their bodies are not read. */
export const EVENTS = 'text/event-stream';

/** A request that a tool sends. */
export interface InnerRequest {
  readonly plan: OperationPlan;
  /** The values in the path. */
  readonly params: Readonly<Record<string, string>>;
  /** Encoded, without its question mark; empty for none. */
  readonly query: string;
  /** Undefined for no body. */
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** The response to a tool's request. */
export interface InnerResponse {
  readonly status: number;
  readonly headers: Readonly<OutgoingHttpHeaders>;
  /** The media type without parameters; empty if there is no body. */
  readonly type: string;
  /** Undefined if the body was not read completely: it is too large for a result, or an event stream. */
  readonly body: Buffer | undefined;
}

/** The plan of the intended route, and the request once it has reached that route. */
interface Expected {
  readonly plan: OperationPlan;
  readonly mark: string;
  reached: FastifyRequest | undefined;
}

/** The application's settings for requests of tools. */
interface InnerRequestsOptions {
  /** Additional headers to pass on. */
  readonly headers: readonly string[];
  /** The largest body that is read. */
  readonly maxBytes: number;
  /** Tells if the tools reach an operation. */
  readonly reaches: (plan: OperationPlan) => boolean;
}

/**
 * Sends requests of tools through the application, as if the client had sent them. Authentication, throttles,
 * permissions, validation and hooks apply as usual.
 */
export class InnerRequests {
  readonly #app: FastifyInstance;
  readonly #passedOn: readonly string[];
  readonly #maxBytes: number;
  readonly #expected = new AsyncLocalStorage<Expected>();

  constructor(app: FastifyInstance, { headers, maxBytes, reaches }: InnerRequestsOptions) {
    this.#app = app;
    this.#passedOn = [...PASSED_ON, ...headers];
    this.#maxBytes = maxBytes;
    // A key may happen to be the path of another route. No other route must be reached.
    scopeOfViewset(app).addHook('onRequest', (request, _reply, done) => {
      const expected = this.#expected.getStore();
      if (expected === undefined) return done();
      const { viewset: plan } = request.routeOptions.config;
      if (request.headers[MARK] === expected.mark) {
        delete request.headers[MARK];
        if (plan !== expected.plan) return done(new NotFound());
        expected.reached = request;
      } else if (isPartOf(request, expected.reached) && !(plan && reaches(plan))) {
        // The body of a batch also names routes.
        return done(new Forbidden('The tools do not reach this operation'));
      }
      done();
    });
  }

  /** @param signal aborts when the client's request ends */
  async send(client: FastifyRequest, sent: InnerRequest, signal: AbortSignal): Promise<InnerResponse> {
    const { plan, params, query, body } = sent;
    const mark = randomUUID();
    const headers: Record<string, string> = { accept: 'application/json', ...sent.headers };
    for (const name of this.#passedOn) {
      const value = client.headers[name];
      if (value !== undefined) headers[name] = String(value);
    }
    const { [':authority']: authority } = client.headers;
    // HTTP/2 sends the host as `:authority`.
    if (headers['host'] === undefined && typeof authority === 'string') headers['host'] = authority;
    headers[MARK] = mark;
    const path = plan.path.replaceAll(/:(\w+)/g, (_all, name: string) => encodeURIComponent(params[name]!));
    const expected: Expected = { plan, mark, reached: undefined };
    // `inject` starts only when it is awaited, so await it inside.
    const response = await this.#expected.run(
      expected,
      async () =>
        await inject(
          (raw, answer) => {
            // The connection is that of the client: its address, if it has one, and whether it is encrypted.
            Object.assign(raw, { socket: client.raw.socket });
            this.#app.routing(raw, answer);
          },
          {
            method: plan.method as 'GET',
            url: query === '' ? path : `${path}?${query}`,
            headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
            ...(body === undefined ? {} : { payload: exactJson.stringify(body) }),
            payloadAsStream: true,
            signal,
          },
        ),
    );
    const { statusCode: status, raw } = response;
    // A hook may also have answered before the route was reached.
    const isOther = status < 400 && expected.reached === undefined;
    const type = (response.headers['content-type'] ?? '').split(';')[0]!.trim();
    const isSkipped = isOther || type === EVENTS;
    const read = isSkipped ? undefined : await readBody(response.stream(), this.#maxBytes);
    if (read === undefined) raw.res.destroy();
    if (isOther) throw new ToolProblem('The response is not that of the resource');
    return { status, headers: response.headers, type, body: read };
  }
}

/** The instance with core's plugin. Its hooks see the requests to all views, wherever `mcp` is registered. */
function scopeOfViewset(app: FastifyInstance): FastifyInstance {
  let scope = app;
  while (!Object.hasOwn(scope, 'viewset')) scope = Object.getPrototypeOf(scope) as FastifyInstance;
  return scope;
}

/** Tells if a request is part of another one, directly or through its parts. */
function isPartOf(request: FastifyRequest, outer: FastifyRequest | undefined): boolean {
  const part = partOf(request);
  return part !== undefined && (part.outer === outer || isPartOf(part.outer, outer));
}

/** Reads a body; undefined if it is larger than `maxBytes`. */
async function readBody(stream: AsyncIterable<unknown>, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += (chunk as Buffer).length;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}
