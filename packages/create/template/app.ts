import type { MikroORM } from '@mikro-orm/core';
import { auth, LogEmailSender } from '@viewset/auth';
import { IsAuthenticated, PathRateLimit, Router, serverOptions, viewset } from '@viewset/core';
import { explorer } from '@viewset/explorer';
import { openapi } from '@viewset/openapi';
import fastify from 'fastify';
import { Account } from './accounts.ts';
import { BookViewSet } from './books.ts';

export async function createApp(orm: MikroORM, secret: string) {
  const app = fastify(serverOptions({ logger: true }));
  await app.register(openapi, { info: { title: 'Library', version: '1.0.0' } });
  await app.register(viewset, {
    orm,
    secret,
    // if accounts
    // Every view needs a login, unless it says otherwise.
    permissionClasses: [IsAuthenticated],
    throttles: [
      new PathRateLimit(10, 60, { path: 'POST /api/auth/login' }),
      new PathRateLimit(10, 60, { path: 'POST /api/auth/register' }),
      new PathRateLimit(10, 60, { path: 'POST /api/auth/send-verification-email' }),
    ],
    // end
  });
  // if explorer
  await app.register(explorer, { title: 'Library' });
  // end
  // if accounts
  await app.register(auth, {
    account: Account,
    secret,
    urlPrefix: '/api/auth',
    mailer: new LogEmailSender(app.log),
  });
  // end
  const router = new Router({ prefix: 'api' });
  router.register('books', BookViewSet);
  await app.register(router.plugin);
  return app;
}
