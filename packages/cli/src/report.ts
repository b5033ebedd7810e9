/**
 * Loaded before a server (`node --import`): once it listens, a report is written in its place, and the process ends. Fastify tells of each
 * application by a channel of Node, so the server has no part in this.
 */
import { subscribe } from 'node:diagnostics_channel';
import { writeSync } from 'node:fs';
import { basename } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { collectRoutes, routeTable } from './route-table.ts';

let isReported = false;

subscribe('fastify.initialization', (message) => {
  const { fastify: app } = message as { fastify: FastifyInstance };
  app.log.level = 'silent';
  const routes = collectRoutes(app);
  app.listen = async () => {
    await app.ready();
    writeSync(1, routeTable(routes));
    isReported = true;
    process.exit();
    // Nothing comes after the end of the process.
    return '';
  };
});

process.once('exit', (code) => {
  if (isReported || code !== 0) return;
  writeSync(2, `${basename(process.argv[1] ?? '')} ended without listening\n`);
  process.exitCode = 1;
});
