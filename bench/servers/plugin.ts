/** plugin: the routes of raw below the plugins of core and auth. What the plugins cost before a view does anything. */
import { type AccountUser, auth, LogEmailSender } from '@viewset/auth';
import { serverOptions, viewset } from '@viewset/core';
import { fastify } from 'fastify';
import { Account } from '../data/entities.ts';
import { openOrm } from '../data/open-orm.ts';
import { addRoutes, openStore } from './raw/routes.ts';
import { type BenchServer, OPEN_ENDPOINTS, serve } from './serve.ts';

declare module '@viewset/core' {
  interface ViewsetTypes {
    user: AccountUser;
  }
}

await serve(async ({ kind, location, secret }): Promise<BenchServer> => {
  const orm = await openOrm(kind, location);
  const store = openStore(kind, location);
  const app = fastify(serverOptions());
  app.addHook('onClose', async () => {
    await store.close();
    await orm.close();
  });
  await app.register(viewset, { orm });
  await app.register(auth, {
    account: Account,
    secret,
    urlPrefix: '/api/auth',
    nonAuthEndpoints: OPEN_ENDPOINTS,
    mailer: new LogEmailSender(app.log),
  });
  addRoutes(app, store);
  return { app };
});
