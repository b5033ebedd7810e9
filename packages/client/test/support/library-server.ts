import type { MikroORM } from '@mikro-orm/core';
import { serverOptions, viewset } from '@viewset/core';
import { fastify } from 'fastify';
import type { Test } from 'tap';
import { fillLibrary } from '../../../core/test/support/library.ts';
import { libraryRouter } from './library-router.ts';

/** Fills the library, and serves it until the test ends. Returns its address. */
export async function startLibrary(t: Test, orm: MikroORM): Promise<string> {
  await fillLibrary(orm);
  const app = fastify(serverOptions());
  await app.register(viewset, { orm, secret: 's'.repeat(32) });
  await app.register(libraryRouter().plugin);
  t.teardown(() => app.close());
  return app.listen({ port: 0, host: '127.0.0.1' });
}
