/** Limits of other plugins: none has a busy process restarted. */
import rateLimit from '@fastify/rate-limit';
import underPressure from '@fastify/under-pressure';
import { fastify, type FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { addViews, addViewset, openOrm } from './support/library.ts';

async function newApp(t: Test, place: 'before' | 'after', register: (app: FastifyInstance) => Promise<unknown>) {
  const orm = await openOrm(t);
  const app = fastify();
  t.teardown(() => app.close());
  if (place === 'before') await register(app);
  await addViewset(app, orm);
  if (place === 'after') await register(app);
  await addViews(app);
  await app.ready();
  return async (url: string) => (await app.inject(url)).statusCode;
}

for (const place of ['before', 'after'] as const) {
  t.test(`@fastify/under-pressure ${place} viewset: a busy process is alive and not ready`, async (t) => {
    const status = await newApp(t, place, async (app) =>
      app.register(underPressure, { healthCheck: async () => false, healthCheckInterval: 60_000 }),
    );
    t.equal(await status('/api/books'), 503);
    t.equal(await status('/health/live'), 200);
    t.equal(await status('/health/live/'), 200);
    t.equal(await status('/health/ready'), 503);
  });

  t.test(`@fastify/under-pressure ${place} viewset, with a handler for all routes`, async (t) => {
    const status = await newApp(t, place, async (app) =>
      app.register(underPressure, {
        healthCheck: async () => false,
        healthCheckInterval: 60_000,
        pressureHandler: (_request, reply) => void reply.code(429).send('busy'),
      }),
    );
    t.equal(await status('/api/books'), 429);
    t.equal(await status('/health/live'), 200);
  });

  t.test(`@fastify/rate-limit ${place} viewset counts no probe`, async (t) => {
    const status = await newApp(t, place, async (app) => app.register(rateLimit, { max: 2 }));
    for (let probe = 0; probe < 5; probe += 1) {
      for (const path of ['/health/', '/health/live', '/health/ready']) t.equal(await status(path), 200, path);
    }
    t.strictSame(
      [await status('/api/books'), await status('/api/books'), await status('/api/books')],
      [200, 200, 429],
      'and every request to a view once',
    );
  });
}
