// Needs a process of its own: it sets the providers of OpenTelemetry, which are the process's.
/** Parts of the SDK that throw, responses that end in unusual ways, and what clients choose. */
import { context, metrics, SpanKind, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import fastify from 'fastify';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Book, fillLibrary, LIBRARY } from '../../core/test/support/library.ts';
import { telemetry } from '../src/index.ts';

let throwsAt: 'start' | 'end' | undefined;
const throwAt = (moment: typeof throwsAt) => () => {
  if (throwsAt === moment) throw new Error('the processor fails');
};
const spans = new InMemorySpanExporter();
const failing = {
  onStart: throwAt('start'),
  onEnd: throwAt('end'),
  forceFlush: async () => undefined,
  shutdown: async () => undefined,
};
trace.setGlobalTracerProvider(
  new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans }), failing] }),
);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
t.teardown(() => reader.shutdown());

class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title']),
  write: writeShape(Book, ['title']),
}) {}

forEachDatabase(t, { entities: LIBRARY }, async (t, orm) => {
  await fillLibrary(orm);
  const lines: string[] = [];
  const logger = { stream: { write: (line: string) => void lines.push(line) } };
  const app = fastify(serverOptions({ trustProxy: true, logger }));
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  const late: { begun?: () => void; wait?: Promise<void> } = {};
  app.addHook('onRequest', async ({ url }) => {
    if (url !== '/late') return;
    late.begun?.();
    await late.wait;
  });
  await app.register(telemetry, { serverTiming: true });
  app.get('/timed', async (_request, reply) => reply.header('server-timing', 'cache;dur=1').send({}));
  app.get('/late', async () => ({}));
  app.get('/hijacked', async (_request, reply) => {
    reply.hijack();
    reply.raw.end('done');
  });
  app.get('/overdue', { handlerTimeout: 20 }, async () => sleep(200, {}));
  await app.register(new Router({ prefix: 'api' }).register('books', BookViewSet).plugin);
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  const finished = async (name: string) => {
    for (let waits = 0; waits < 300; waits++) {
      const found = spans.getFinishedSpans().filter((span) => span.name === name);
      if (found.length > 0) return found;
      await sleep(10);
    }
    return [];
  };

  for (const moment of ['start', 'end'] as const) {
    t.test(`a processor that throws at the ${moment} of spans fails no request`, async (t) => {
      throwsAt = moment;
      t.teardown(() => (throwsAt = undefined));
      lines.length = 0;
      const made = await app.inject({ method: 'POST', url: '/api/books', payload: { title: moment } });
      t.equal(made.statusCode, 201);
      t.equal((await app.inject('/api/books')).statusCode, 200);
      const told = lines.filter((line) => line.includes('the SDK of OpenTelemetry has thrown'));
      t.equal(told.length, moment === 'start' ? 1 : 0, 'the log tells of the first fault');
    });
  }

  t.test('a client that disconnects before the plugin sees the request leaves no open span', async (t) => {
    spans.reset();
    const begun = new Promise<void>((resolve) => (late.begun = resolve));
    let goOn!: () => void;
    late.wait = new Promise((resolve) => (goOn = resolve));
    const closed = new Promise<void>((resolve) => {
      app.server.once('request', (_raw, response) => response.once('close', resolve));
    });
    const sent = request(`${address}/late`, { agent: false });
    sent.on('error', () => undefined);
    sent.end();
    await begun;
    sent.destroy();
    await closed;
    goOn();
    const found = await finished('GET /late');
    t.equal(found.length, 1);
    t.match(found[0]?.attributes, { 'error.type': 'aborted' });
  });

  t.test('responses that the handler does not send end their spans once', async (t) => {
    spans.reset();
    t.equal((await fetch(`${address}/hijacked`)).status, 200);
    t.equal((await fetch(`${address}/overdue`)).status, 503);
    t.equal((await finished('GET /hijacked')).length, 1);
    await sleep(250);
    const overdue = await finished('GET /overdue');
    t.equal(overdue.length, 1, 'also after the handler has returned');
    t.match(overdue[0]?.attributes, { 'http.response.status_code': 503 });
  });

  t.test('a client cannot set an attribute', async (t) => {
    spans.reset();
    const headers = { 'x-forwarded-proto': 'secret', 'x-forwarded-host': 'secret.example', 'x-request-id': 'secret' };
    await app.inject({ url: '/timed?q=secret', headers });
    await app.inject({ url: '/secret', headers });
    const [timed] = await finished('GET /timed');
    t.equal(timed?.attributes['url.scheme'], 'http');
    t.notMatch(JSON.stringify(spans.getFinishedSpans().map(({ name, attributes }) => [name, attributes])), 'secret');
    await app.inject({ url: '/timed', headers: { 'x-forwarded-proto': 'https' } });
    t.equal((await finished('GET /timed')).at(-1)?.attributes['url.scheme'], 'https');
  });

  t.test('Server-Timing keeps the metrics of the handler', async (t) => {
    const { headers } = await app.inject('/timed');
    t.match(headers['server-timing'], /^cache;dur=1, total;dur=[\d.]+, db;dur=0;desc="0 statements"$/);
  });

  t.test('a statement of a request injected by another one is recorded once', async (t) => {
    const outer = fastify(serverOptions());
    t.teardown(() => outer.close());
    await outer.register(viewset, { orm });
    await outer.register(telemetry);
    outer.get('/outer', async () => (await app.inject('/api/books/1')).json());
    spans.reset();
    await outer.inject('/outer');
    await finished('GET /outer');
    const found = spans.getFinishedSpans();
    const inner = found.find(({ name }) => name === 'GET /api/books/:pk');
    const statements = found.filter(({ kind }) => kind === SpanKind.CLIENT);
    t.strictSame(
      statements.map(({ parentSpanContext }) => parentSpanContext?.spanId),
      [inner?.spanContext().spanId],
    );
  });

  t.test('a second registration is refused, because requests would count twice', async (t) => {
    const twice = fastify(serverOptions());
    t.teardown(() => twice.close());
    await twice.register(viewset, { orm });
    await twice.register(telemetry);
    await t.rejects(async () => twice.register(async (scope) => scope.register(telemetry)), {
      name: 'ImproperlyConfigured',
      message: /already has the plugin/,
    });
  });
});

t.test('no request stays active', async (t) => {
  await reader.forceFlush();
  const all = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
  const active = all.findLast(({ descriptor }) => descriptor.name === 'http.server.active_requests')!;
  for (const { value, attributes } of active.dataPoints) t.equal(value, 0, JSON.stringify(attributes));
  t.notMatch(JSON.stringify(all), 'secret');
});
