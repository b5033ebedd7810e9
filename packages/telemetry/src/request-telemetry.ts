import {
  type Attributes,
  context,
  type Context,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { methodAttribute, methodForName, originalMethod } from './http-method.ts';
import type { RanStatement } from './hear-statements.ts';
import type { StatementName } from './statement-names.ts';

/** The telemetry of one request, from its first hook until its response ends. */
export class RequestTelemetry {
  readonly context: Context;
  readonly startedMs: number;
  /** The number of statements, without the begin and end of transactions. */
  statements = 0;
  /** The total time of all statements, including the begin and end of transactions, in milliseconds. */
  databaseMs = 0;
  readonly #span: Span;
  readonly #request: FastifyRequest;
  #fault: string | undefined;

  /**
   * @param elapsedMs milliseconds since the request came in, if this is created late; with 0 the SDK measures the start
   * itself, more exactly
   */
  constructor(tracer: Tracer, request: FastifyRequest, elapsedMs = 0) {
    this.#request = request;
    this.startedMs = performance.now() - elapsedMs;
    const active = context.active();
    // The instrumentation of node:http has already started the server's span.
    const isInner = trace.getSpan(active) !== undefined;
    const parent = isInner ? active : propagation.extract(active, request.headers);
    this.#span = tracer.startSpan(
      spanName(request),
      {
        kind: isInner ? SpanKind.INTERNAL : SpanKind.SERVER,
        ...(elapsedMs === 0 ? {} : { startTime: Date.now() - elapsedMs }),
        attributes: requestAttributes(request),
      },
      parent,
    );
    this.context = trace.setSpan(parent, this.#span);
  }

  /** Stores the name of an error, but not its message, which may contain values. */
  fail(error: Error): void {
    this.#fault = error.name;
  }

  /** Adds the span of a finished statement. */
  addStatement(
    tracer: Tracer,
    database: string,
    { operation, collection }: StatementName,
    { tookMs, isFailed }: RanStatement,
  ): void {
    const summary = collection === undefined ? operation : `${operation} ${collection}`;
    const end = Date.now();
    const span = tracer.startSpan(
      summary,
      {
        kind: SpanKind.CLIENT,
        startTime: end - tookMs,
        attributes: {
          'db.system.name': database,
          'db.operation.name': operation,
          'db.query.summary': summary,
          ...(collection === undefined ? {} : { 'db.collection.name': collection }),
        },
      },
      this.context,
    );
    if (isFailed) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(end);
  }

  /** Returns how the response ended, for the span and the metrics. */
  outcomeOf({ raw, statusCode }: FastifyReply): Attributes {
    if (!raw.writableEnded) return { 'error.type': 'aborted' };
    return {
      'http.response.status_code': statusCode,
      ...(statusCode >= 500 ? { 'error.type': this.#fault ?? String(statusCode) } : {}),
    };
  }

  /** The attributes of the duration metric. */
  metricAttributes(outcome: Attributes): Attributes {
    const { viewset: plan } = this.#request.routeOptions.config;
    const operation = plan === undefined ? {} : { 'viewset.operation': plan.operationId };
    return { ...commonAttributes(this.#request), ...operation, ...outcome };
  }

  /** Ends the span. */
  end(outcome: Attributes): void {
    this.#span.setAttributes(outcome);
    const isFault = 'http.response.status_code' in outcome && 'error.type' in outcome;
    if (isFault) this.#span.setStatus({ code: SpanStatusCode.ERROR });
    this.#span.end();
  }
}

function spanName(request: FastifyRequest): string {
  const route = routeOf(request);
  const method = methodForName(request.method);
  return route === undefined ? method : `${method} ${route}`;
}

/** Returns the path of the route, with parameter names instead of values; undefined if there is no route. */
function routeOf({ routeOptions }: FastifyRequest): string | undefined {
  return routeOptions.config.viewset?.path ?? routeOptions.url;
}

function requestAttributes(request: FastifyRequest): Attributes {
  const { viewset: plan } = request.routeOptions.config;
  return {
    ...commonAttributes(request),
    ...originalMethod(request.method),
    'network.protocol.version': request.raw.httpVersion,
    ...(plan === undefined
      ? {}
      : { 'viewset.view': plan.view.name, 'viewset.action': plan.action, 'viewset.operation': plan.operationId }),
  };
}

/** The attributes of a running request. */
export function commonAttributes(request: FastifyRequest): Attributes {
  const route = routeOf(request);
  return {
    ...methodAttribute(request.method),
    // A proxy, or a client that pretends to be one, may send any text as the protocol.
    'url.scheme': request.protocol === 'https' ? 'https' : 'http',
    ...(route === undefined ? {} : { 'http.route': route }),
  };
}
