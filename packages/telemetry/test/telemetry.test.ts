// Needs a process of its own: it sets the providers of OpenTelemetry, which are the process's.
/** Spans, metrics and the log of slow statements, by the SDK of OpenTelemetry. */
import { context, metrics, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { InMemorySpanExporter, TracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import {
  action,
  IPRateLimit,
  ModelViewSet,
  readShape,
  Router,
  serverOptions,
  viewset,
  writeShape,
} from '@viewset/core';
import { BatchViewSet } from '@viewset/batch';
import fastify, { type FastifyInstance } from 'fastify';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Book, fillLibrary, LIBRARY } from '../../core/test/support/library.ts';
import { telemetry, type TelemetryOptions } from '../src/index.ts';
import { resolveOptions } from '../src/options.ts';

const spans = new InMemorySpanExporter();
trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] }));
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
t.teardown(() => reader.shutdown());

const SECRET = 'Zephyr';
let seen: string | undefined;
const written: string[] = [];

class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title']),
  write: writeShape(Book, ['title']),
  searchFields: ['title'],
}) {
  fail = action({ methods: ['post'], detail: true }, async (request) => {
    await this.getObject(request);
    throw new TypeError(`a message with ${SECRET}`);
  });

  wait = action({}, async () => {
    await sleep(300);
    seen = trace.getActiveSpan()?.spanContext().traceId;
    return {};
  });
}

class Batch extends BatchViewSet() {}

const orm = { logger: (line: string) => void written.push(line), colors: false };

forEachDatabase(t, { entities: LIBRARY, orm }, async (t, orm, database) => {
  await fillLibrary(orm);
  const lines: string[] = [];
  const started: FastifyInstance[] = [];
  const start = async (options: TelemetryOptions = {}, throttles: IPRateLimit[] = []): Promise<FastifyInstance> => {
    const app = fastify(serverOptions({ logger: { stream: { write: (line: string) => void lines.push(line) } } }));
    t.teardown(() => app.close());
    started.push(app);
    await app.register(viewset, { orm, throttles });
    await app.register(telemetry, options);
    app.get('/own/:name', async () => ({}));
    await app.register(new Router({ prefix: 'api' }).register('books', BookViewSet).register('batch', Batch).plugin);
    await app.ready();
    return app;
  };
  const app = await start();
  const during = async (work: () => Promise<unknown>) => {
    spans.reset();
    await work();
    await sleep(20);
    return spans.getFinishedSpans();
  };

  t.test('a request has a span with its route, and its statements are below it', async (t) => {
    const found = await during(() => app.inject(`/api/books?search=${SECRET}`));
    const server = found.find(({ kind }) => kind === SpanKind.SERVER);
    t.match(server, {
      name: 'GET /api/books',
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'http.request.method': 'GET',
        'http.route': '/api/books',
        'http.response.status_code': 200,
        'viewset.view': 'BookViewSet',
        'viewset.action': 'list',
        'viewset.operation': 'listBooks',
      },
    });
    const statements = found.filter(({ kind }) => kind === SpanKind.CLIENT);
    t.ok(statements.length > 0);
    for (const { parentSpanContext, attributes } of statements) {
      t.equal(parentSpanContext?.spanId, server!.spanContext().spanId);
      t.match(attributes, { 'db.system.name': database, 'db.collection.name': 'book' });
    }
    t.notMatch(JSON.stringify(found.map(({ name, attributes, events }) => [name, attributes, events])), SECRET);
  });

  t.test('an unknown method is _OTHER, and its text is only in the span', async (t) => {
    const [server] = await during(() => app.inject({ method: 'PROPFIND' as never, url: '/own/a' }));
    t.match(server, {
      name: /^HTTP/,
      attributes: { 'http.request.method': '_OTHER', 'http.request.method_original': 'PROPFIND' },
    });
    const [known] = await during(() => app.inject({ method: 'QUERY' as never, url: '/api/books', payload: {} }));
    t.equal(known?.attributes['http.request.method'], 'QUERY');
    t.notOk('http.request.method_original' in known!.attributes);
  });

  t.test('a write is followed past its body', async (t) => {
    const found = await during(() => app.inject({ method: 'POST', url: '/api/books', payload: { title: SECRET } }));
    const server = found.find(({ kind }) => kind === SpanKind.SERVER);
    t.equal(server?.attributes['http.response.status_code'], 201);
    const names = found.filter(({ kind }) => kind === SpanKind.CLIENT).map(({ name }) => name);
    t.ok(
      names.some((name) => /^(?:INSERT|insertOne|insertMany) book$/.test(name)),
      names.join(', '),
    );
    t.notMatch(JSON.stringify(found.map(({ name, attributes }) => [name, attributes])), SECRET);
  });

  t.test('an error has its type as an attribute, and not its message', async (t) => {
    const found = await during(() => app.inject({ method: 'POST', url: '/api/books/1/fail' }));
    const server = found.find(({ kind }) => kind === SpanKind.SERVER);
    t.match(server, {
      name: 'POST /api/books/:pk/fail',
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'http.response.status_code': 500, 'error.type': 'TypeError' },
    });
    t.notMatch(JSON.stringify(found.map(({ status, attributes, events }) => [status, attributes, events])), SECRET);
    const [missing] = await during(() => app.inject('/api/books/999999'));
    t.match(missing, { name: /.*/ });
    const refused = (await during(() => app.inject('/nowhere/at/all'))).at(-1);
    t.match(refused, { name: 'GET', status: { code: SpanStatusCode.UNSET } }, 'a 404 is no fault');
    const own = (await during(() => app.inject(`/own/${SECRET}`))).at(-1);
    t.match(own, { name: 'GET /own/:name' });
    t.notMatch(JSON.stringify(own?.attributes), SECRET);
  });

  t.test('a trace goes on from the client to the handler', async (t) => {
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
    const found = await during(() => app.inject({ url: '/api/books/wait', headers: { traceparent } }));
    t.equal(seen, traceId);
    t.equal(found.at(-1)?.parentSpanContext?.spanId, 'b7ad6b7169203331');
    const bad = await during(() => app.inject({ url: '/api/books', headers: { traceparent: 'x' } }));
    t.equal(bad.at(-1)?.kind, SpanKind.SERVER, 'a malformed one begins a trace');
  });

  t.test('a span of node:http is the parent of an inner one', async (t) => {
    const outer = trace.getTracer('test').startSpan('GET', { kind: SpanKind.SERVER });
    const found = await during(() =>
      context.with(trace.setSpan(context.active(), outer), async () => await app.inject('/api/books')),
    );
    outer.end();
    const inner = found.find(({ name }) => name === 'GET /api/books');
    t.equal(inner?.kind, SpanKind.INTERNAL);
    t.equal(inner?.parentSpanContext?.spanId, outer.spanContext().spanId);
  });

  t.test('a client that disconnects leaves a span that says so', async (t) => {
    const listening = await start();
    await listening.listen({ port: 0, host: '127.0.0.1' });
    const { port } = listening.server.address() as AddressInfo;
    const found = await during(async () => {
      const sent = request({ port, host: '127.0.0.1', path: '/api/books/wait', agent: false });
      sent.on('error', () => undefined);
      sent.end();
      await sleep(100);
      sent.destroy();
      await sleep(100);
    });
    t.match(found.at(-1), { name: 'GET /api/books/wait', attributes: { 'error.type': 'aborted' } });
  });

  t.test('a request that core refuses at once has a span too', async (t) => {
    const throttled = await start({ serverTiming: true }, [new IPRateLimit(1, 60)]);
    await throttled.inject('/api/books');
    const found = await during(() => throttled.inject('/api/books'));
    t.equal(found.length, 1);
    t.match(found[0], { name: 'GET /api/books', attributes: { 'http.response.status_code': 429 } });
  });

  t.test('with the option, Server-Timing contains the duration of a request and of its statements', async (t) => {
    t.notOk('server-timing' in (await app.inject('/api/books/1')).headers);
    const timed = await start({ serverTiming: true });
    const { headers } = await timed.inject('/api/books/1');
    t.match(headers['server-timing'], /^total;dur=[\d.]+, db;dur=\d+;desc="1 statement"$/);
    t.match((await timed.inject('/own/a')).headers['server-timing'], /db;dur=0;desc="0 statements"/);
  });

  t.test('Server-Timing of a batch includes the statements of its operations', async (t) => {
    const timed = await start({ serverTiming: true });
    const operations = [1, 2].map((id) => ({ method: 'GET', path: `/books/${id}` }));
    const { statusCode, headers } = await timed.inject({ method: 'POST', url: '/api/batch', payload: { operations } });
    t.equal(statusCode, 200);
    t.match(headers['server-timing'], /^total;dur=[\d.]+, db;dur=\d+;desc="2 statements"$/);
  });

  t.test('slow statements are logged with their view, and without their text', async (t) => {
    lines.length = 0;
    const slow = await start({ slowStatementMs: 30 });
    const logger = orm.config.getLogger();
    const logQuery = logger.logQuery.bind(logger);
    logger.logQuery = (told) => logQuery({ ...told, took: 40 });
    await slow.inject(`/api/books?search=${SECRET}`);
    logger.logQuery = (told) => logQuery({ ...told, took: 29 });
    await slow.inject('/api/books/1');
    logger.logQuery = logQuery;
    const warnings = lines.filter((line) => line.includes('a statement was slow'));
    t.match(JSON.parse(warnings[0]!), { view: 'BookViewSet', action: 'list', collection: 'book', tookMs: 40 });
    t.notOk(warnings.some((line) => line.includes('retrieve')));
    t.notMatch(warnings.join(''), SECRET);
  });

  t.test('the log of the ORM does not change, and is restored in the end', async (t) => {
    const logger = orm.config.getLogger();
    written.length = 0;
    await app.inject('/api/books/1');
    t.strictSame(written, [], 'it has no queries unless it is told to');
    logger.setDebugMode(['query']);
    await app.inject('/api/books/1');
    t.equal(written.length, 1, 'and each once');
    logger.setDebugMode(false);
    const other = await start();
    await Promise.all([app.close(), other.close()]);
    await sleep(20);
    await Promise.all(started.map((each) => each.close()));
    t.equal(logger.isEnabled('query'), false, 'once every application that tells is closed');
  });
});

t.test('metrics count requests by operation and outcome', async (t) => {
  await reader.forceFlush();
  const all = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
  const duration = all.findLast(({ descriptor }) => descriptor.name === 'http.server.request.duration')!;
  t.equal(duration.descriptor.unit, 's');
  const failed = duration.dataPoints.find(({ attributes }) => attributes['error.type'] === 'TypeError');
  t.match(failed?.attributes, {
    'http.route': '/api/books/:pk/fail',
    'http.response.status_code': 500,
    'viewset.operation': 'failBook',
  });
  t.ok(
    duration.dataPoints.some(({ attributes }) => attributes['http.response.status_code'] === 429),
    'those that were refused too',
  );
  const active = all.findLast(({ descriptor }) => descriptor.name === 'http.server.active_requests')!;
  for (const { value } of active.dataPoints) t.equal(value, 0, 'every request has ended');
  t.notMatch(JSON.stringify(all), SECRET);
});

t.test('wrong options are refused, and named', async (t) => {
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await t.rejects(async () => app.register(telemetry), /@viewset\/core/);
  for (const [options, message] of [
    [{ slow: 1 }, 'telemetry: unknown option "slow". Known options: serverTiming, slowStatementMs'],
    [{ serverTiming: 1 }, 'telemetry: option "serverTiming" must be true or false, got 1'],
    [{ slowStatementMs: 0 }, /"slowStatementMs" must be a whole number above 0, or null, got 0/],
    [{ slowStatementMs: '9' }, /"slowStatementMs" must be/],
  ] as const) {
    t.throws(() => resolveOptions(options as TelemetryOptions), { name: 'ImproperlyConfigured', message });
  }
});
