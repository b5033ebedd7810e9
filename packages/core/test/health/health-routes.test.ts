import fastify, { type FastifyInstance } from 'fastify';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { HealthCheck } from '../../src/health/health-check.ts';
import { HealthRegistry } from '../../src/health/health-registry.ts';
import { healthRoutes } from '../../src/health/health-routes.ts';

class FixedCheck extends HealthCheck {
  readonly #answer: boolean;
  constructor(name: string, answer: boolean) {
    super({ name });
    this.#answer = answer;
  }
  override async check(): Promise<boolean> {
    return this.#answer;
  }
}

async function application(ignoreTrailingSlash: boolean, ...checks: HealthCheck[]): Promise<FastifyInstance> {
  const app = fastify({ return503OnClosing: false, routerOptions: { ignoreTrailingSlash } });
  const registry = new HealthRegistry();
  for (const check of checks) registry.register(check);
  healthRoutes(app, registry);
  await app.ready();
  return app;
}

for (const ignoreTrailingSlash of [true, false]) {
  t.test(`ignoreTrailingSlash: ${ignoreTrailingSlash}`, async (t) => {
    const app = await application(ignoreTrailingSlash, new FixedCheck('database', true));
    for (const path of ['/health', '/health/', '/health/ready', '/health/ready/']) {
      const response = await app.inject(path);
      t.equal(response.statusCode, 200, path);
      const report = response.json<{ checks: { database: { duration_ms: number } } }>();
      t.type(report.checks.database.duration_ms, 'number');
      t.same(report, {
        status: 'ok',
        checks: { database: { status: 'ok', duration_ms: report.checks.database.duration_ms } },
      });
      t.equal(response.headers['cache-control'], 'no-store');
      t.equal((await app.inject({ method: 'HEAD', url: path })).statusCode, 200);
    }
    for (const path of ['/health/live', '/health/live/']) {
      t.same((await app.inject(path)).json(), { status: 'ok' }, path);
    }
    t.equal((await app.inject('/health/other')).statusCode, 404);
  });
}

t.test('503 where a check fails, but alive all the same', async (t) => {
  const app = await application(true, new FixedCheck('database', false), new FixedCheck('redis', true));
  for (const path of ['/health/', '/health/ready']) {
    const response = await app.inject(path);
    t.equal(response.statusCode, 503);
    t.match(response.json(), {
      status: 'unavailable',
      checks: { database: { status: 'unavailable' }, redis: { status: 'ok' } },
    });
  }
  t.equal((await app.inject('/health/live')).statusCode, 200);
});

t.test('the routes are public and not throttled', async (t) => {
  const app = fastify();
  const configs: unknown[] = [];
  app.addHook('onRoute', ({ config }) => void configs.push(config));
  healthRoutes(app, new HealthRegistry());
  await app.ready();
  t.ok(configs.length >= 6);
  for (const config of configs) t.match(config, { public: true, throttle: false });
});

t.test('ready ends when the server begins to close, while it still takes connections', async (t) => {
  const app = fastify({ return503OnClosing: false });
  healthRoutes(app, new HealthRegistry());
  app.addHook('preClose', async () => sleep(200));
  const base = await app.listen({ port: 0, host: '127.0.0.1' });
  t.equal((await fetch(`${base}/health/ready`)).status, 200);
  const closing = app.close();
  const [ready, live] = await Promise.all([fetch(`${base}/health/ready`), fetch(`${base}/health/live`)]);
  t.same([ready.status, await ready.json()], [503, { status: 'unavailable', checks: {} }]);
  t.equal(live.status, 200);
  await closing;
});
