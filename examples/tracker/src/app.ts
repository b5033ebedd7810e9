import type { MikroORM } from '@mikro-orm/core';
import { type AccountUser, auth, LogEmailSender } from '@viewset/auth';
import { flydriveStore, serverOptions, viewset } from '@viewset/core';
import { explorer } from '@viewset/explorer';
import { openapi } from '@viewset/openapi';
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
  /** True if requests are logged. Default: false. */
  readonly logger?: boolean;
}

/** The tracker, ready to listen. */
export async function buildApp({
  orm,
  uploads,
  secret,
  bcryptRounds = 12,
  logger = false,
}: AppOptions): Promise<FastifyInstance> {
  const app = fastify(serverOptions({ logger }));
  await app.register(openapi, { info: { title: 'Tracker', version: '1.0.0' } });
  await app.register(viewset, { orm });
  await app.register(explorer, { title: 'Tracker' });
  await app.register(auth, {
    account: Account,
    urlPrefix: '/api/auth',
    secret,
    bcryptRounds,
    mailer: new LogEmailSender(app.log),
  });
  const disk = new Disk(new FSDriver({ location: uploads, visibility: 'private' }));
  await app.register(trackerRouter(flydriveStore(disk)).plugin);
  return app;
}
