/** The plugins that most applications register: views, errors and health routes are the same before and after each. */
import autoload from '@fastify/autoload';
import type { CurrentUser } from '@viewset/core';
import compress from '@fastify/compress';
import cookie from '@fastify/cookie';
import cors from '@fastify/cors';
import etag from '@fastify/etag';
import formbody from '@fastify/formbody';
import helmet from '@fastify/helmet';
import jwt from '@fastify/jwt';
import multipart from '@fastify/multipart';
import rateLimit from '@fastify/rate-limit';
import sensible from '@fastify/sensible';
import session from '@fastify/session';
import staticFiles from '@fastify/static';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import { type TypeBoxTypeProvider, TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox';
import underPressure from '@fastify/under-pressure';
import websocket from '@fastify/websocket';
import { build } from 'fastify-cli/helper.js';
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import { fastify, type FastifyInstance, type FastifyRequest, type LightMyRequestResponse } from 'fastify';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Type } from 'typebox';
import { z } from 'zod';
import { addViews, addViewset, openOrm, testRequests } from './support/library.ts';

declare module '@fastify/jwt' {
  interface FastifyJWT {
    user: CurrentUser | null;
  }
}

/** A plugin as an application registers it, with what it gives a route of the application. */
interface Neighbour {
  readonly register: (app: FastifyInstance) => Promise<unknown>;
  /** The request to the application's route, and what its response shows of the plugin. */
  readonly shows: readonly [url: string, expected: (response: LightMyRequestResponse) => boolean];
}

const SECRET = 'x'.repeat(32);
const info = { title: 'Library', version: '1.0.0' };

/** Adds a route of the application itself, which the plugin is for. */
async function withRoute(app: FastifyInstance): Promise<void> {
  app.get('/own', async () => ({ own: true, text: 'a'.repeat(2000) }));
}

const NEIGHBOURS: Readonly<Record<string, Neighbour>> = {
  '@fastify/helmet': {
    register: async (app) => app.register(helmet),
    shows: ['/own', ({ headers }) => headers['x-frame-options'] === 'SAMEORIGIN'],
  },
  '@fastify/cors': {
    register: async (app) =>
      app.register(cors, {
        // The views respond to OPTIONS, except for the preflight requests of browsers.
        delegator: async ({ headers }: FastifyRequest) => ({
          origin: 'https://shop.example',
          preflight: headers['access-control-request-method'] !== undefined,
        }),
      }),
    shows: ['/own', ({ headers }) => headers['access-control-allow-origin'] === 'https://shop.example'],
  },
  '@fastify/cookie': {
    register: async (app) => {
      await app.register(cookie);
      app.get('/cookie', async (_request, reply) => reply.setCookie('a', 'b').send('set'));
    },
    shows: ['/cookie', ({ cookies }) => cookies[0]?.value === 'b'],
  },
  '@fastify/session': {
    register: async (app) => {
      await app.register(cookie);
      await app.register(session, { secret: SECRET, cookie: { secure: false }, saveUninitialized: false });
      app.get('/session', async (request) => {
        request.session.set('visits' as never, 1 as never);
        return 'stored';
      });
    },
    shows: ['/session', ({ cookies }) => cookies[0]?.name === 'sessionId'],
  },
  '@fastify/formbody': {
    register: async (app) => app.register(formbody),
    shows: ['/own', ({ statusCode }) => statusCode === 200],
  },
  '@fastify/static': {
    register: async (app) =>
      app.register(staticFiles, { root: join(import.meta.dirname, 'support'), wildcard: false, index: false }),
    shows: ['/library.ts', ({ body }) => body.includes('BookViewSet')],
  },
  '@fastify/sensible': {
    register: async (app) => {
      await app.register(sensible);
      app.get('/teapot', async (_request, reply) => reply.imateapot('short and stout'));
    },
    shows: ['/teapot', ({ statusCode }) => statusCode === 418],
  },
  '@fastify/etag': {
    register: async (app) => app.register(etag),
    shows: ['/own', ({ headers }) => headers.etag !== undefined],
  },
  '@fastify/rate-limit': {
    register: async (app) => app.register(rateLimit, { max: 1000 }),
    shows: ['/own', ({ headers }) => headers['x-ratelimit-limit'] === '1000'],
  },
  '@fastify/swagger': {
    register: async (app) => {
      await app.register(swagger, { openapi: { openapi: '3.1.0', info } });
      app.get('/document', async () => app.swagger());
    },
    shows: ['/document', (response) => '/own' in response.json<{ paths: object }>().paths],
  },
  '@fastify/swagger-ui': {
    register: async (app) => {
      await app.register(swagger, { openapi: { openapi: '3.1.0', info } });
      await app.register(swaggerUi, { routePrefix: '/ui' });
    },
    shows: ['/ui/', ({ body }) => body.includes('swagger-ui')],
  },
  '@fastify/compress': {
    register: async (app) => app.register(compress),
    shows: ['/own', ({ headers }) => headers['content-encoding'] === 'gzip'],
  },
  '@fastify/websocket': {
    register: async (app) => {
      await app.register(websocket);
      app.get('/socket', { websocket: true }, (socket) => socket.close());
    },
    shows: ['/socket', ({ statusCode }) => statusCode === 404],
  },
  '@fastify/multipart': {
    register: async (app) => app.register(multipart, { attachFieldsToBody: true }),
    shows: ['/own', ({ statusCode }) => statusCode === 200],
  },
  '@fastify/jwt': {
    register: async (app) => {
      await app.register(jwt, { secret: SECRET, decoratorName: 'token' });
      app.get('/token', async () => app.jwt.sign({ sub: '1' }));
    },
    shows: ['/token', ({ body }) => body.split('.').length === 3],
  },
  '@fastify/under-pressure': {
    register: async (app) => {
      await app.register(underPressure, { maxEventLoopDelay: 60_000 });
      app.get('/memory', async () => app.memoryUsage().heapUsed >= 0);
    },
    shows: ['/memory', ({ body }) => body === 'true'],
  },
  '@fastify/autoload': {
    register: async (app) => app.register(autoload, { dir: join(import.meta.dirname, 'support/loaded') }),
    shows: ['/loaded', ({ body }) => body === 'loaded'],
  },
  '@fastify/type-provider-typebox': {
    register: async (app) => {
      app.setValidatorCompiler(TypeBoxValidatorCompiler);
      const querystring = Type.Object({ count: Type.Number() });
      app
        .withTypeProvider<TypeBoxTypeProvider>()
        .get('/typebox', { schema: { querystring } }, async ({ query }) => query.count + 1);
    },
    shows: ['/typebox?count=1', ({ body }) => body === '2'],
  },
  'fastify-type-provider-zod': {
    register: async (app) => {
      app.setValidatorCompiler(validatorCompiler);
      app.setSerializerCompiler(serializerCompiler);
      const schema = {
        querystring: z.object({ count: z.coerce.number() }),
        response: { 200: z.object({ next: z.number() }) },
      };
      app.withTypeProvider<ZodTypeProvider>().get('/zod', { schema }, async ({ query }) => ({ next: query.count + 1 }));
    },
    shows: ['/zod?count=1', ({ body }) => body === '{"next":2}'],
  },
};

/** Where the plugin is registered, and whether the views stand in a scope of their own. */
const PLACES = {
  'before viewset': async (app: FastifyInstance, mount: Mount) => {
    await mount.neighbour(app);
    await mount.viewset(app);
    await mount.views(app);
  },
  'between viewset and the router': async (app: FastifyInstance, mount: Mount) => {
    await mount.viewset(app);
    await mount.neighbour(app);
    await mount.views(app);
  },
  'after the router': async (app: FastifyInstance, mount: Mount) => {
    await mount.viewset(app);
    await mount.views(app);
    await mount.neighbour(app);
  },
  'at the root, viewset in a scope': async (app: FastifyInstance, mount: Mount) => {
    await mount.neighbour(app);
    await app.register(
      async (scope) => {
        await mount.viewset(scope);
        await mount.views(scope);
      },
      { prefix: '/v1' },
    );
  },
  'in a scope beside': async (app: FastifyInstance, mount: Mount) => {
    await mount.viewset(app);
    await app.register(async (scope) => mount.neighbour(scope));
    await mount.views(app);
  },
} as const;

interface Mount {
  readonly neighbour: (app: FastifyInstance) => Promise<void>;
  readonly viewset: (app: FastifyInstance) => Promise<void>;
  readonly views: (app: FastifyInstance) => Promise<void>;
}

async function testPlace(t: Test, { register, shows: [url, expected] }: Neighbour, place: keyof typeof PLACES) {
  const orm = await openOrm(t);
  const app = fastify();
  t.teardown(() => app.close());
  await PLACES[place](app, {
    neighbour: async (scope) => {
      await register(scope);
      await scope.register(withRoute);
    },
    viewset: async (scope) => addViewset(scope, orm),
    views: addViews,
  });
  await app.ready();
  await testRequests(t, app, place === 'at the root, viewset in a scope' ? '/v1' : '');
  const response = await app.inject({ url, headers: { 'accept-encoding': 'gzip' } });
  t.ok(expected(response), `${url}: ${response.statusCode} ${JSON.stringify(response.headers)}`);
}

for (const [name, neighbour] of Object.entries(NEIGHBOURS)) {
  for (const place of Object.keys(PLACES) as (keyof typeof PLACES)[]) {
    t.test(`${name}, ${place}`, async (t) => testPlace(t, neighbour, place));
  }
}

t.test('fastify-cli, with @fastify/autoload', async (t) => {
  const app = await build([join(import.meta.dirname, 'support/cli/app.ts'), '--options', '--log-level=silent']);
  t.teardown(() => app.close());
  await testRequests(t, app);
});

t.test('all of them at once', async (t) => {
  const orm = await openOrm(t);
  const app = fastify();
  t.teardown(() => app.close());
  // The pages of swagger-ui and sessions bring what others bring too.
  const alone = new Set(['@fastify/cookie', '@fastify/swagger']);
  for (const [name, { register }] of Object.entries(NEIGHBOURS)) if (!alone.has(name)) await register(app);
  await app.register(withRoute);
  await addViewset(app, orm);
  await addViews(app);
  await testRequests(t, app);
});
