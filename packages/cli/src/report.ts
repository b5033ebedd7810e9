/**
 * Is loaded before a server (`node --import`). When the server calls `listen`, writes a report instead and ends the
 * process. Fastify announces each application on a Node diagnostics channel, so the server needs no changes. The
 * environment variable VIEWSET_REPORT names the report.
 */
import { subscribe } from 'node:diagnostics_channel';
import { writeSync } from 'node:fs';
import { basename } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { findingText, prepareCheck } from './check/check-app.ts';
import { collectRoutes, routeTable } from './route-table.ts';

/** A report: its text, and the exit code of the command. */
type Report = () => Promise<{ readonly text: string; readonly code: number }>;

const REPORTS: Readonly<Record<string, (app: FastifyInstance) => Report>> = {
  routes: (app) => {
    const routes = collectRoutes(app);
    return async () => ({ text: routeTable(routes), code: 0 });
  },
  check: (app) => {
    const check = prepareCheck(app);
    return async () => {
      const findings = await check();
      const texts = findings.map((finding) => `${findingText(finding, process.cwd())}\n`);
      const count = findings.length === 0 ? 'Nothing was found' : `Found: ${findings.length}`;
      return { text: `${[...texts, count].join('\n')}\n`, code: findings.length === 0 ? 0 : 1 };
    };
  },
};

let isReported = false;

subscribe('fastify.initialization', (message) => {
  const { fastify: app } = message as { fastify: FastifyInstance };
  app.log.level = 'silent';
  const report = REPORTS[process.env['VIEWSET_REPORT'] ?? '']!(app);
  app.listen = async () => {
    await app.ready();
    const { text, code } = await report();
    writeSync(1, text);
    isReported = true;
    process.exit(code);
  };
});

process.once('exit', (code) => {
  if (isReported || code !== 0) return;
  writeSync(2, `${basename(process.argv[1] ?? '')} ended without listening\n`);
  process.exitCode = 1;
});
