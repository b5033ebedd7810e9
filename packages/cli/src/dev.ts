/**
 * Is loaded before a server in development (`node --import @viewset/cli/dev`). Once the server listens, logs the
 * findings of the check.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { FastifyInstance } from 'fastify';
import { findingText, prepareCheck } from './check/check-app.ts';

subscribe('fastify.initialization', (message) => {
  const { fastify: app } = message as { fastify: FastifyInstance };
  const check = prepareCheck(app);
  app.addHook('onListen', async () => {
    for (const finding of await check()) app.log.warn(findingText(finding, process.cwd()));
  });
});
