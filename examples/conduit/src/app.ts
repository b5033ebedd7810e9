import type { MikroORM } from '@mikro-orm/core';
import { type AccountUser, auth } from '@viewset/auth';
import { serverOptions, viewset } from '@viewset/core';
import { explorer } from '@viewset/explorer';
import { openapi } from '@viewset/openapi';
import { fastify } from 'fastify';
import { User } from './entities.ts';
import { ERRORS, formatError } from './errors.ts';
import { conduitRouter } from './router.ts';

declare module '@viewset/core' {
  interface ViewsetTypes {
    user: AccountUser;
  }
}

export interface AppOptions {
  readonly orm: MikroORM;
  /** Signs tokens; at least 32 bytes. */
  readonly secret: string;
  /** Default: 12. */
  readonly bcryptRounds?: number;
  /** Default: no log. */
  readonly logger?: boolean;
}

const INFO = {
  title: 'Conduit',
  version: '1.0.0',
  description: 'The API of RealWorld, by Viewset.',
  contact: { name: 'Viewset' },
  license: { name: 'MIT', identifier: 'MIT' },
};

/** Conduit, ready to listen. */
export async function buildApp({ orm, secret, bcryptRounds = 12, logger = false }: AppOptions) {
  const app = fastify(serverOptions({ logger }));
  await app.register(openapi, { info: INFO });
  await app.register(viewset, { orm, formatError, errorSchema: ERRORS });
  await app.register(explorer, { title: INFO.title });
  await app.register(auth, {
    account: User,
    fields: { name: 'username', is_active: 'isActive', last_login: 'lastLogin' },
    routes: [],
    tokenScheme: 'Token',
    secret,
    bcryptRounds,
  });
  await app.register(conduitRouter().plugin);
  return app;
}
