import { createMcpHandler } from '@modelcontextprotocol/server';
import {
  Forbidden,
  getCurrentUser,
  type OperationPlan,
  readJsonOnly,
  serializeBySchema,
  Unauthorized,
} from '@viewset/core';
import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify';
import fp from 'fastify-plugin';
import { InnerRequests } from './inner-requests.ts';
import { isLoopback } from './loopback.ts';
import { addMetadata, withMetadata } from './oauth-metadata.ts';
import { type McpOptions, resolveOptions, type ResolvedOptions } from './options.ts';
import { plansOf, resourcesOf } from './resource.ts';
import { ToolServer } from './tool-server.ts';
import { acceptsStreams, webRequest, withoutStream } from './web-messages.ts';

/**
 * Serves the Model Context Protocol at `POST /mcp`, over the streamable HTTP transport and without sessions. It has
 * seven tools (`describe`, `search`, `get`, `create`, `update`, `delete`, `act`) for the resources in the options. Each
 * call is a request to the resource's own route, with the client's `Authorization`. The permissions, limits and rules
 * of that route therefore apply.
 *
 * Register it after `viewset`.
 *
 * Throws ImproperlyConfigured if an option is wrong, and at start for a name that no view has.
 *
 * @example
 * await app.register(viewset, { orm });
 * await app.register(mcp, { resources: ['products', 'orders'], anonymous: true });
 * await app.register(router.plugin);
 */
export const mcp = fp(
  async (app: FastifyInstance, given: McpOptions): Promise<void> => {
    const options = resolveOptions(given);
    const { viewset } = app;
    const { maxResultBytes } = options;
    let reached: ReadonlySet<OperationPlan> | undefined;
    const inner = new InnerRequests(app, {
      headers: options.headers,
      maxBytes: maxResultBytes,
      reaches: (plan) => reached?.has(plan) === true,
    });
    let server: ToolServer | undefined;
    app.addHook('onReady', async () => {
      const resources = resourcesOf(viewset.operations, options);
      reached = new Set([...resources.values()].flatMap(plansOf));
      server = new ToolServer(resources, options, viewset, { inner, maxResultBytes });
    });
    await app.register(async (scope) => addRoute(scope, options, () => server!));
  },
  { name: '@viewset/mcp', fastify: '5.x', dependencies: ['@viewset/core'] },
);

function addRoute(app: FastifyInstance, options: ResolvedOptions, server: () => ToolServer): void {
  readJsonOnly(app);
  serializeBySchema(app);
  if (options.oauth !== undefined) addMetadata(app, options.name, options.oauth);
  app.post(
    options.path,
    {
      // Hides the route from documents. A body schema keeps the digits of numbers; the SDK validates the message.
      schema: { hide: true, body: {} } as FastifySchema,
      validatorCompiler: () => () => true,
      config: options.anonymous ? { public: true, identifies: true } : {},
      onRequest: async (request) => checkClient(request, options),
    },
    async (request, reply) => {
      const { body } = request;
      if (Array.isArray(body)) return reply.code(400).send(BATCH);
      const abort = new AbortController();
      reply.raw.once('close', () => {
        if (!reply.raw.writableFinished) abort.abort();
      });
      const handler = createMcpHandler(() => server().serverFor(request, abort.signal), {
        // Clients cannot subscribe to anything.
        maxSubscriptions: 0,
        onerror: (error) => request.log.debug({ err: error }, 'a message of a client of MCP was refused'),
      });
      const response = await handler.fetch(webRequest(request, abort.signal), { parsedBody: body });
      return acceptsStreams(request) ? response : withoutStream(response);
    },
  );
}

const BATCH = {
  jsonrpc: '2.0',
  id: null,
  error: { code: -32_600, message: 'Batches are not part of the protocol any more; send one message' },
};

/** Rejects pages of other origins, invalid tokens, and requests without a token unless they are allowed. */
function checkClient(request: FastifyRequest, options: ResolvedOptions): void {
  const { allowedOrigins, anonymous, oauth } = options;
  const { origin } = request.headers;
  if (origin !== undefined && !allowedOrigins.includes(origin) && !(isDevelopment() && isLoopback(origin))) {
    throw new Forbidden('Pages of this origin may not use this server');
  }
  const isBadToken = typeof request.challenge === 'string';
  if (!isBadToken && (anonymous || getCurrentUser(request) !== null)) return;
  if (oauth !== undefined) request.challenge = withMetadata(request.challenge, oauth);
  throw new Unauthorized();
}

function isDevelopment(): boolean {
  return process.env['NODE_ENV'] !== 'production';
}
