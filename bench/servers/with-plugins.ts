import { type AccountUser, auth, LogEmailSender } from '@viewset/auth';
import { serverOptions, viewset } from '@viewset/core';
import { fastify, type FastifyInstance } from 'fastify';
import { Account } from '../data/entities.ts';
import { openOrm } from '../data/open-orm.ts';
import type { ServerSettings } from './serve.ts';

declare module '@viewset/core' {
  interface ViewsetTypes {
    user: AccountUser;
  }
}

/** Makes an application with the plugins of core and auth, with default settings. Closing it closes its ORM. */
export async function withPlugins({ kind, location, secret }: ServerSettings): Promise<FastifyInstance> {
  const orm = await openOrm(kind, location);
  const app = fastify(serverOptions());
  app.addHook('onClose', async () => orm.close());
  await app.register(viewset, { orm });
  await app.register(auth, {
    account: Account,
    secret,
    urlPrefix: '/api/auth',
    nonAuthEndpoints: ['GET /api/products*', 'GET /api/accounts*', 'GET /api/baskets*', '/api/drafts*', '/api/stocks*'],
    mailer: new LogEmailSender(app.log),
  });
  return app;
}
