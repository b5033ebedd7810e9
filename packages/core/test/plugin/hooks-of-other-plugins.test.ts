/** The onRoute hooks of other plugins: they append to the hooks of routes, and wrap handlers. */
import { fastify, type FastifyInstance, type RouteOptions } from 'fastify';
import t, { type Test } from 'tap';
import { ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '../../src/index.ts';
import { openSqlite } from '../support/databases.ts';
import { LIBRARY, Publisher } from '../support/library.ts';

class PublisherViewSet extends ModelViewSet(Publisher, {
  read: readShape(Publisher, ['id', 'name']),
  write: writeShape(Publisher, ['name']),
}) {}

async function newApp(t: Test, place: 'before' | 'after', add: (app: FastifyInstance) => void) {
  const orm = await openSqlite(t, { entities: LIBRARY });
  const app = fastify({ ...serverOptions(), routerOptions: { ignoreTrailingSlash: false } });
  t.teardown(() => app.close());
  if (place === 'before') add(app);
  await app.register(viewset, { orm });
  if (place === 'after') add(app);
  await app.register(new Router().register('publishers', PublisherViewSet).plugin);
  return app;
}

const HOOKS = ['onRequest', 'preParsing', 'preValidation', 'preHandler', 'preSerialization', 'onSend'] as const;

/** Appends a hook to every list of hooks of a route, as @fastify/compress and @fastify/rate-limit do. */
function appendHooks(route: RouteOptions, count: (name: string) => void): void {
  for (const name of HOOKS) {
    const hook = (...values: readonly unknown[]): void => {
      count(name);
      const done = values.at(-1) as (error: null, payload?: unknown) => void;
      done(null, values.length === 4 ? values[2] : undefined);
    };
    const withArity = arityOf(name) === 4 ? withFour(hook) : withThree(hook);
    const list = route as unknown as Record<string, unknown>;
    if (Array.isArray(list[name])) (list[name] as unknown[]).push(withArity);
    else list[name] = list[name] === undefined ? [withArity] : [list[name], withArity];
  }
}

function arityOf(name: (typeof HOOKS)[number]): 3 | 4 {
  return name === 'preParsing' || name === 'preSerialization' || name === 'onSend' ? 4 : 3;
}

type Hook = (...given: readonly unknown[]) => void;
const withThree = (hook: Hook) => (request: unknown, reply: unknown, done: unknown) => hook(request, reply, done);
const withFour = (hook: Hook) => (request: unknown, reply: unknown, payload: unknown, done: unknown) =>
  hook(request, reply, payload, done);

for (const place of ['before', 'after'] as const) {
  t.test(`a hook that a plugin ${place} viewset appends to each route runs once a request`, async (t) => {
    let counts: Record<string, number> = {};
    const app = await newApp(t, place, (scope) => {
      scope.addHook('onRoute', (route) =>
        appendHooks(route, (name) => {
          counts[name] = (counts[name] ?? 0) + 1;
        }),
      );
    });
    const once = Object.fromEntries(HOOKS.map((name) => [name, 1]));
    // Of each GET route with a list of hooks, Fastify itself makes a HEAD route with the same list.
    for (const url of ['/publishers', '/publishers/']) {
      counts = {};
      const response = await app.inject({ method: 'POST', url, payload: { name: `Faber ${url}` } });
      t.equal(response.statusCode, 201, response.body);
      t.strictSame(counts, once, url);
    }
  });

  t.test(`a plugin ${place} viewset wraps handlers, and calls some with other arguments`, async (t) => {
    const seen: unknown[] = [];
    const app = await newApp(t, place, (scope) => {
      scope.addHook('onRoute', (route) => {
        const handler = route.handler as unknown as (...given: readonly unknown[]) => unknown;
        if (route.url !== '/wrapped') return;
        // As @fastify/websocket does with a socket.
        route.handler = function wrapped(request, reply) {
          reply.hijack();
          seen.push(handler.call(this, 'a socket', request));
          reply.raw.end('by the wrapper');
        };
      });
    });
    app.get('/wrapped', ((socket: unknown, request: { url: string }) => [socket, request.url]) as never);
    t.equal((await app.inject('/wrapped')).body, 'by the wrapper');
    t.strictSame(seen, [['a socket', '/wrapped']]);
    t.equal((await app.inject('/publishers')).statusCode, 200);
  });
}
