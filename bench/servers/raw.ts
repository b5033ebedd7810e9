/**
 * raw: Fastify and the bare driver with statements or commands written by hand, and response schemas: the code of an expert who optimizes
 * for speed.
 */
import fastifyJwt from '@fastify/jwt';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { addRoutes, openStore } from './raw/routes.ts';
import type { User } from './raw/store.ts';
import { type BenchServer, serve } from './serve.ts';

declare module 'fastify' {
  interface FastifyRequest {
    account: User | null;
  }
}

await serve(async ({ kind, location, secret }): Promise<BenchServer> => {
  const store = openStore(kind, location);
  const app = fastify();
  app.addHook('onClose', async () => store.close());
  await app.register(fastifyJwt, { secret, verify: { algorithms: ['HS256'], requiredClaims: ['iat', 'exp'] } });
  app.decorateRequest('account', null);

  const authenticate = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { user_id: userId } = await request.jwtVerify<{ user_id: number }>();
    const user = Number.isSafeInteger(userId) ? await store.user(userId) : undefined;
    if (user?.is_active !== true) return void reply.code(401).send({ error: 'Authentication is required' });
    request.account = user;
  };

  addRoutes(app, store, authenticate);
  return { app };
});
