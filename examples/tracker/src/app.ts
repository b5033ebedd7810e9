import type { MikroORM } from '@mikro-orm/core';
import { type AccountUser, auth, LogEmailSender } from '@viewset/auth';
import { printRoutes } from '@viewset/cli';
import { flydriveStore, PathRateLimit, serverOptions, viewset, type ViewsetOptions } from '@viewset/core';
import { explorer } from '@viewset/explorer';
import { live } from '@viewset/live';
import { mcp } from '@viewset/mcp';
import { openapi } from '@viewset/openapi';
import { logOptions, logRequests } from '@viewset/terminal';
import { fastify, type FastifyInstance } from 'fastify';
import { Disk } from 'flydrive';
import { FSDriver } from 'flydrive/drivers/fs';
import { Account } from './entities.ts';
import { trackerRouter } from './router.ts';

declare module '@viewset/core' {
  interface ViewsetTypes {
    user: AccountUser;
  }
}

export interface AppOptions {
  readonly orm: MikroORM;
  /** The folder that attachments are kept in. */
  readonly uploads: string;
  /** Signs tokens; at least 32 bytes. */
  readonly secret: string;
  /** Default: 12. */
  readonly bcryptRounds?: number;
  /** How often one client address may log in within a minute. Default: 10. */
  readonly loginsPerMinute?: number;
  /** How clients ask for lists, and the form of lists, for clients that expect others. Default: the library's. */
  readonly lists?: Pick<ViewsetOptions, 'filters' | 'pagination'>;
  /** Lines and a table of routes for people on a terminal, or JSON for programs. Default: no log. */
  readonly log?: 'terminal' | 'json';
  /** Receives text for people on a terminal in addition to the log. Default: stdout. */
  readonly write?: (text: string) => unknown;
}

const INFO = {
  title: 'Tracker',
  version: '1.0.0',
  description: 'An example of Viewset: projects with tickets, comments, files and members.',
  contact: { name: 'Viewset' },
  license: { name: 'MIT', identifier: 'MIT' },
};

/** The tracker, ready to listen. */
export async function buildApp({
  orm,
  uploads,
  secret,
  bcryptRounds = 12,
  loginsPerMinute = 10,
  lists = {},
  log,
  write = (text) => process.stdout.write(text),
}: AppOptions): Promise<FastifyInstance> {
  const app = fastify(serverOptions({ ...(log === undefined ? {} : logOptions(log === 'terminal')) }));
  if (log === 'terminal') {
    logRequests(app);
    printRoutes(app, write);
  }
  await app.register(openapi, { info: INFO });
  const logins = new PathRateLimit(loginsPerMinute, 60, { path: 'POST /api/auth/login' });
  await app.register(viewset, { orm, throttles: [logins], ...lists });
  await app.register(explorer, { title: 'Tracker' });
  await app.register(auth, {
    account: Account,
    urlPrefix: '/api/auth',
    secret,
    bcryptRounds,
    mailer: new LogEmailSender(app.log),
  });
  await app.register(live);
  await app.register(mcp, { resources: 'all', name: 'tracker' });
  const disk = new Disk(new FSDriver({ location: uploads, visibility: 'private' }));
  await app.register(trackerRouter(flydriveStore(disk)).plugin);
  return app;
}
