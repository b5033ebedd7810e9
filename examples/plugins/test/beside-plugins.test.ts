import autoload from '@fastify/autoload';
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
import { TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox';
import underPressure from '@fastify/under-pressure';
import websocket from '@fastify/websocket';
import { fastify, type FastifyInstance } from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import t from 'tap';
import { addViews, addViewset, openOrm, testRequests } from './support/library.ts';

type Register = (app: FastifyInstance) => Promise<unknown>;
const dir = import.meta.dirname;
const NEIGHBOURS: Record<string, Register> = {
  none: async () => {},
  helmet: async (app) => app.register(helmet),
  cors: async (app) => app.register(cors, { preflight: false }),
  cookie: async (app) => app.register(cookie),
  session: async (app) => {
    await app.register(cookie);
    await app.register(session, { secret: 'x'.repeat(40), cookie: { secure: false } });
  },
  formbody: async (app) => app.register(formbody),
  static: async (app) => app.register(staticFiles, { root: dir }),
  staticGlob: async (app) => app.register(staticFiles, { root: dir, wildcard: false }),
  sensible: async (app) => app.register(sensible),
  etag: async (app) => app.register(etag),
  'rate-limit': async (app) => app.register(rateLimit, { max: 1000 }),
  swagger: async (app) => app.register(swagger, { openapi: { info: { title: 'x', version: '1' } } }),
  'swagger-ui': async (app) => {
    await app.register(swagger, { openapi: { info: { title: 'x', version: '1' } } });
    await app.register(swaggerUi, { routePrefix: '/docs' });
  },
  compress: async (app) => app.register(compress, { threshold: 0 }),
  websocket: async (app) => {
    await app.register(websocket);
    app.get('/ws', { websocket: true }, (socket) => void socket.on('message', (m) => socket.send(m)));
  },
  multipart: async (app) => app.register(multipart),
  multipartBody: async (app) => app.register(multipart, { attachFieldsToBody: true }),
  multipartKeyValues: async (app) => app.register(multipart, { attachFieldsToBody: 'keyValues' }),
  jwt: async (app) => app.register(jwt, { secret: 'x'.repeat(40), decoratorName: 'token' }),
  'under-pressure': async (app) => app.register(underPressure, { maxEventLoopDelay: 10_000 }),
  autoload: async (app) => app.register(autoload, { dir: `${dir}/support/autoloaded` }),
  typebox: async (app) => app.setValidatorCompiler(TypeBoxValidatorCompiler as never),
  zod: async (app) => {
    app.setValidatorCompiler(validatorCompiler);
    app.setSerializerCompiler(serializerCompiler);
  },
  replySerializer: async (app) => app.setReplySerializer((x) => JSON.stringify({ wrapped: x })),
};

const only = process.env.ONLY;
for (const [name, register] of Object.entries(NEIGHBOURS)) {
  if (only && !only.split(',').includes(name)) continue;
  for (const place of ['before', 'between', 'after', 'outside'] as const) {
    t.test(`${name} ${place}`, async (t) => {
      const orm = await openOrm(t);
      const app = fastify({ routerOptions: { ignoreTrailingSlash: true } });
      t.teardown(() => app.close());
      if (place === 'before' || place === 'outside') await register(app);
      const mount = async (scope: FastifyInstance) => {
        await addViewset(scope, orm);
        if (place === 'between') await register(scope);
        await addViews(scope);
        if (place === 'after') await register(scope);
      };
      if (place === 'outside') await app.register(mount, { prefix: '/v1' });
      else await mount(app);
      await app.ready();
      await testRequests(t, app, place === 'outside' ? '/v1' : '');
    });
  }
}
