import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { HealthRegistry } from './health-registry.ts';
import type { HealthReport } from './watched-check.ts';

const STATUS = { type: 'string', enum: ['ok', 'unavailable'] };

const HEALTH_REPORT_SCHEMA = {
  title: 'HealthReport',
  type: 'object',
  required: ['status', 'checks'],
  properties: {
    status: STATUS,
    checks: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        required: ['status', 'duration_ms'],
        properties: { status: STATUS, duration_ms: { type: 'number' } },
      },
    },
  },
} as const;

const LIVENESS_SCHEMA = { type: 'object', required: ['status'], properties: { status: STATUS } } as const;

const REPORT_RESPONSES = { 200: HEALTH_REPORT_SCHEMA, 503: HEALTH_REPORT_SCHEMA };

/**
 * A limit that refused a probe would have a busy process restarted. The first two properties are the library's, the
 * third is read by `@fastify/rate-limit`.
 */
const UNLIMITED = { public: true, throttle: false, rateLimit: false };

/** Under pressure, a process is not ready, but it is alive. `@fastify/under-pressure` calls the function instead of refusing. */
const ALIVE = { ...UNLIMITED, pressureHandler: (): void => {} };

/** The descriptions of the routes, for documents. */
const DOCUMENTED = {
  health: {
    operationId: 'checkHealth',
    summary: 'Run the health checks',
    description: 'Runs every check, and gives 503 if one of them fails.',
    tags: ['health'],
  },
  live: {
    operationId: 'checkLiveness',
    summary: 'Ask if the process answers',
    description: 'Runs no check: a response shows that the process is alive.',
    tags: ['health'],
  },
  ready: {
    operationId: 'checkReadiness',
    summary: 'Ask if the process takes requests',
    description:
      'Runs the essential checks; answers with 503 if one of them fails, and as soon as the process begins to close.',
    tags: ['health'],
  },
};

/**
 * Adds three routes that need no token and are not throttled, each with and without a trailing slash:
 *
 * | route | answer |
 * |---|---|
 * | `GET /health/` | 200 if all checks are ok, else 503, with the report |
 * | `GET /health/live` | 200 as long as the process answers; runs no checks |
 * | `GET /health/ready` | 200 if all essential checks are ok, else 503; 503 as soon as the server has begun to close |
 *
 * `@fastify/rate-limit` does not count them either. `@fastify/under-pressure` never refuses `/health/live`.
 */
export function healthRoutes(app: FastifyInstance, registry: HealthRegistry, path = '/health'): void {
  app.addHook('preClose', async () => registry.beginShutdown());
  addRoute(app, path, { ...DOCUMENTED.health, response: REPORT_RESPONSES }, async (request, reply) =>
    sendReport(reply, await registry.run(request.log)),
  );
  const live = { ...DOCUMENTED.live, response: { 200: LIVENESS_SCHEMA } };
  addRoute(app, `${path}/live`, live, async (_request, reply) => reply.send({ status: 'ok' }), ALIVE);
  addRoute(app, `${path}/ready`, { ...DOCUMENTED.ready, response: REPORT_RESPONSES }, async (request, reply) =>
    sendReport(reply, await registry.readiness(request.log)),
  );
}

function addRoute(
  app: FastifyInstance,
  prefix: string,
  schema: object,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
  config: object = UNLIMITED,
): void {
  // The root of a prefix answers with and without a slash, whatever `ignoreTrailingSlash` is.
  void app.register(
    async (scope) => {
      scope.get('/', { schema, config }, async (request, reply) =>
        handler(request, reply.header('cache-control', 'no-store')),
      );
    },
    { prefix },
  );
}

function sendReport(reply: FastifyReply, report: HealthReport): FastifyReply {
  return reply.code(report.status === 'ok' ? 200 : 503).send(report);
}
