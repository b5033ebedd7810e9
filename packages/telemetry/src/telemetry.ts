import { AsyncLocalStorage } from 'node:async_hooks';
import { context, metrics, trace } from '@opentelemetry/api';
import { ImproperlyConfigured, partOf } from '@viewset/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { hearStatements, type RanStatement } from './hear-statements.ts';
import { resolveOptions, type ResolvedOptions, type TelemetryOptions } from './options.ts';
import { commonAttributes, RequestTelemetry } from './request-telemetry.ts';
import { makeSafe, type Safely } from './safely.ts';
import { databaseOf, StatementNames } from './statement-names.ts';

const NAME = '@viewset/telemetry';

/** Marks the scopes that already have the plugin. */
const REGISTERED = Symbol(NAME);

/** The bucket bounds that OpenTelemetry's conventions recommend for request durations, in seconds. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** The operations that begin and end transactions and savepoints. */
const BRACKETS: ReadonlySet<string> = new Set([
  'BEGIN',
  'COMMIT',
  'ROLLBACK',
  'SAVEPOINT',
  'RELEASE',
  'begin',
  'commit',
  'rollback',
]);

interface InFlight {
  readonly request: FastifyRequest;
  readonly telemetry: RequestTelemetry;
}

/** The innermost running request. A handler may send a request to another application that shares the ORM. */
const inFlight = new AsyncLocalStorage<InFlight>();

/**
 * Reports requests and their statements to OpenTelemetry. Each request gets a span with its route, view and action, and
 * each statement a span with its kind and table. The metrics are `http.server.request.duration` and
 * `http.server.active_requests`. It never reports values: no URL, parameter, statement text or error message. Slow
 * statements appear in the request's log.
 *
 * The application sets up the SDK of OpenTelemetry and its exporters. Without an SDK, spans and metrics go nowhere.
 * Register the plugin right after `viewset`.
 *
 * Throws ImproperlyConfigured if an option is wrong, or if this scope or an outer one already has the plugin.
 *
 * @example
 * await app.register(viewset, { orm });
 * await app.register(telemetry, { serverTiming: true, slowStatementMs: 200 });
 * // GET /api/products    Server-Timing: total;dur=3.1, db;dur=2;desc="2 statements"
 */
export const telemetry = fp(
  async (app: FastifyInstance, given: TelemetryOptions): Promise<void> => {
    const options = resolveOptions(given);
    if (app.hasDecorator(REGISTERED)) {
      throw new ImproperlyConfigured(
        'telemetry: this scope or an outer one already has the plugin; each request would count twice',
      );
    }
    app.decorate(REGISTERED, true);
    const safely = makeSafe(app.log);
    const states = new WeakMap<FastifyRequest, InFlight>();
    hearRequests(app, states, safely);
    hearDatabase(app, states, options, safely);
    if (options.serverTiming) addServerTiming(app, states);
  },
  { name: NAME, fastify: '5.x', dependencies: ['@viewset/core'] },
);

function hearRequests(app: FastifyInstance, states: WeakMap<FastifyRequest, InFlight>, safely: Safely): void {
  const tracer = trace.getTracer(NAME);
  const { duration, active } = makeMetrics();
  const end = (requestTelemetry: RequestTelemetry, reply: FastifyReply): void => {
    const outcome = requestTelemetry.outcomeOf(reply);
    safely(() =>
      duration.record(
        (performance.now() - requestTelemetry.startedMs) / 1000,
        requestTelemetry.metricAttributes(outcome),
      ),
    );
    safely(() => requestTelemetry.end(outcome));
  };
  const begin = (request: FastifyRequest, reply: FastifyReply): InFlight => {
    const state = { request, telemetry: new RequestTelemetry(tracer, request) };
    states.set(request, state);
    // The client may have gone away during an earlier hook. No `close` event would follow.
    if (isClosed(reply)) {
      end(state.telemetry, reply);
      return state;
    }
    const common = commonAttributes(request);
    // Fastify does not call onResponse if the client went away.
    reply.raw.once('close', () => {
      safely(() => active.add(-1, common));
      end(state.telemetry, reply);
    });
    safely(() => active.add(1, common));
    return state;
  };
  const enter = (state: InFlight | undefined, done: () => void): void => {
    if (state === undefined) done();
    else inFlight.run(state, () => context.with(state.telemetry.context, done));
  };
  app.addHook('onRequest', (request, reply, done) => {
    enter(
      safely(() => begin(request, reply)),
      done,
    );
  });
  // Covers requests that core rejects before this plugin sees them, because there are too many or they come too fast.
  app.addHook('onResponse', (request, reply, done) => {
    if (!states.has(request)) safely(() => end(new RequestTelemetry(tracer, request, reply.elapsedTime), reply));
    done();
  });
  // Body parsing runs in events of the socket, which lose the async context.
  app.addHook('preValidation', (request, _reply, done) => {
    enter(states.get(request), done);
  });
  app.addHook('onError', (request, _reply, error, done) => {
    states.get(request)?.telemetry.fail(error);
    done();
  });
}

function makeMetrics() {
  const meter = metrics.getMeter(NAME);
  const duration = meter.createHistogram('http.server.request.duration', {
    unit: 's',
    description: 'Duration of HTTP server requests',
    advice: { explicitBucketBoundaries: BOUNDS },
  });
  const active = meter.createUpDownCounter('http.server.active_requests', {
    unit: '{request}',
    description: 'Number of active HTTP server requests',
  });
  return { duration, active };
}

/** Tells if the response has emitted `close`. Over HTTP/2 only its stream knows. */
function isClosed({ raw }: FastifyReply): boolean {
  const { stream } = raw as { readonly stream?: { readonly closed: boolean } };
  return stream?.closed ?? raw.closed;
}

function hearDatabase(
  app: FastifyInstance,
  states: WeakMap<FastifyRequest, InFlight>,
  options: ResolvedOptions,
  safely: Safely,
): void {
  const { orm } = app.viewset;
  const tracer = trace.getTracer(NAME);
  const database = databaseOf(orm);
  const names = new StatementNames(orm);
  const hear = (statement: RanStatement): void => {
    const state = inFlight.getStore();
    // The request may belong to another application.
    if (state === undefined || states.get(state.request) !== state) return;
    const name = names.of(statement.text);
    const { telemetry: requestTelemetry, request } = state;
    const statements = BRACKETS.has(name.operation) ? 0 : 1;
    // Parts of a batch send no headers, so the batch's request counts their statements too.
    for (let each: InFlight | undefined = state; each !== undefined; each = outerOf(each, states)) {
      each.telemetry.statements += statements;
      each.telemetry.databaseMs += statement.tookMs;
    }
    safely(() => requestTelemetry.addStatement(tracer, database, name, statement));
    if (options.slowStatementMs === null || statement.tookMs < options.slowStatementMs) return;
    const { viewset: plan } = request.routeOptions.config;
    request.log.warn(
      { view: plan?.view.name, action: plan?.action, ...name, tookMs: statement.tookMs },
      'a statement was slow',
    );
  };
  const stop = hearStatements(orm, hear);
  app.addHook('onClose', async () => stop());
}

/** Returns the request that contains this part; undefined for a request from outside. */
function outerOf({ request }: InFlight, states: WeakMap<FastifyRequest, InFlight>): InFlight | undefined {
  const part = partOf(request);
  return part && states.get(part.outer);
}

function addServerTiming(app: FastifyInstance, states: WeakMap<FastifyRequest, InFlight>): void {
  app.addHook('onSend', (request, reply, _payload, done) => {
    const state = states.get(request);
    if (state !== undefined) {
      const { startedMs, databaseMs, statements } = state.telemetry;
      const total = (performance.now() - startedMs).toFixed(1);
      const noun = statements === 1 ? 'statement' : 'statements';
      const present = [reply.getHeader('server-timing') ?? []].flat();
      const entries = [...present, `total;dur=${total}`, `db;dur=${databaseMs};desc="${statements} ${noun}"`];
      void reply.header('server-timing', entries.join(', '));
    }
    done();
  });
}
