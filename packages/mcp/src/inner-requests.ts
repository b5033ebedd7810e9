import { Forbidden, NotFound, type OperationPlan, partOf } from '@viewset/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';
import { ToolProblem } from './tool-problem.ts';

/** The header that tells the request of a tool from those that a hook sends on its way. No hook after the guard sees it. */
const MARK = 'x-viewset-mcp';

/** The headers that a request behind a tool has from the request of the client: who asks, for whom a proxy speaks, and in which language. */
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

/** The media type of a stream of events, which may have no end: its body is not read. */
export const EVENTS = 'text/event-stream';

/** A request that a tool sends. */
export interface InnerRequest {
  readonly plan: OperationPlan;
  /** The values of the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Undefined: no body. */
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** The response to it. */
export interface InnerResponse {
  readonly status: number;
  readonly headers: Readonly<OutgoingHttpHeaders>;
  /** The media type without parameters; empty if there is no body. */
  readonly type: string;
  /** Undefined if the body has not been read to its end: it is larger than a result may be, or a stream of events. */
  readonly body: Buffer | undefined;
}

/** The plan of the route that a request is for, and the request once it has come to it. */
interface Expected {
  readonly plan: OperationPlan;
  readonly mark: string;
  reached: FastifyRequest | undefined;
}

/** The facts of an application that the requests of tools go by. */
interface InnerRequestsOptions {
  /** Further headers to pass on. */
  readonly headers: readonly string[];
  /** The largest body that is read. */
  readonly maxBytes: number;
  /** Tells if the tools reach an operation. */
  readonly reaches: (plan: OperationPlan) => boolean;
}

/**
 * Sends the requests of tools through the application, as if their client had sent them: authentication, throttles, permissions, validation
 * and hooks apply to them as to any other.
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
    // A key may be the path of another route, of a view or not. No other route must be reached.
    scopeOfViewset(app).addHook('onRequest', (request, _reply, done) => {
      const expected = this.#expected.getStore();
      if (expected === undefined) return done();
      const { viewset: plan } = request.routeOptions.config;
      if (request.headers[MARK] === expected.mark) {
        delete request.headers[MARK];
        if (plan !== expected.plan) return done(new NotFound());
        expected.reached = request;
      } else if (isPartOf(request, expected.reached) && !(plan && reaches(plan))) {
        // The body of a batch names routes too.
        return done(new Forbidden('The tools do not reach this operation'));
      }
      done();
    });
  }

  /** @param signal ends the request with that of the client */
  async send(client: FastifyRequest, sent: InnerRequest, signal: AbortSignal): Promise<InnerResponse> {
    const { plan, params, query, body } = sent;
    const mark = randomUUID();
    const headers: Record<string, string> = { accept: 'application/json', ...sent.headers };
    for (const name of this.#passedOn) {
      const value = client.headers[name];
      if (value !== undefined) headers[name] = String(value);
    }
    const { [':authority']: authority } = client.headers;
    // The Host of HTTP/2.
    if (headers['host'] === undefined && typeof authority === 'string') headers['host'] = authority;
    headers[MARK] = mark;
    const path = plan.path.replaceAll(/:(\w+)/g, (_all, name: string) => encodeURIComponent(params[name]!));
    const search = query.toString();
    const expected: Expected = { plan, mark, reached: undefined };
    // What inject returns begins when it is awaited, which has to be inside.
    const response = await this.#expected.run(
      expected,
      async () =>
        await this.#app.inject({
          method: plan.method as 'GET',
          url: search === '' ? path : `${path}?${search}`,
          headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
          ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
          remoteAddress: client.raw.socket.remoteAddress ?? '127.0.0.1',
          payloadAsStream: true,
          signal,
        }),
    );
    const { statusCode: status, raw } = response;
    // Not reached either if a hook of the application has answered before.
    const isOther = status < 400 && expected.reached === undefined;
    const type = (response.headers['content-type'] ?? '').split(';')[0]!.trim();
    const isSkipped = isOther || type === EVENTS;
    const read = isSkipped ? undefined : await readBody(response.stream(), this.#maxBytes);
    if (read === undefined) raw.res.destroy();
    if (isOther) throw new ToolProblem('The response is not that of the resource');
    return { status, headers: response.headers, type, body: read };
  }
}

/** The instance that has the plugin of core: its hooks see the requests to all views, wherever `mcp` is registered. */
function scopeOfViewset(app: FastifyInstance): FastifyInstance {
  let scope = app;
  while (!Object.hasOwn(scope, 'viewset')) scope = Object.getPrototypeOf(scope) as FastifyInstance;
  return scope;
}

/** Tells if a request is a part of another one, or a part of its parts. */
function isPartOf(request: FastifyRequest, whole: FastifyRequest | undefined): boolean {
  const part = partOf(request);
  return part !== undefined && (part.whole === whole || isPartOf(part.whole, whole));
}

/** Reads a body; undefined if it has more bytes. */
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
