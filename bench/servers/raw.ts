/** raw: Fastify and the bare driver with statements or commands written by hand, and response schemas. What an expert writes for speed. */
import fastifyJwt from '@fastify/jwt';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { MongoStore } from './raw/mongo-store.ts';
import { PostgresStore } from './raw/postgres-store.ts';
import { SqliteStore } from './raw/sqlite-store.ts';
import type { Store, User } from './raw/store.ts';
import * as schemas from './schemas.ts';
import { type BenchServer, serve, type ServerSettings } from './serve.ts';

declare module 'fastify' {
  interface FastifyRequest {
    account: User | null;
  }
}

const RETRIEVE = { params: schemas.PkParams, response: { 200: schemas.ProductShape } };

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

  const retrieve = async ({ params }: { params: schemas.PkParams }, reply: FastifyReply): Promise<schemas.Product> => {
    const product = await store.product(params.pk);
    return product ?? reply.code(404).send({ error: 'Not found' });
  };

  app.get<{ Querystring: schemas.ProductsQuery }>(
    '/api/products',
    { schema: { querystring: schemas.ProductsQuery, response: { 200: schemas.pageOf(schemas.ProductShape) } } },
    async ({ query }) => {
      const slice = schemas.sliceOf(query);
      const { count, rows } = await store.products(query, slice);
      return schemas.envelope(count, slice, rows);
    },
  );
  app.get<{ Querystring: schemas.PageQuery }>(
    '/api/accounts',
    { schema: { querystring: schemas.PageQuery, response: { 200: schemas.pageOf(schemas.AccountShape) } } },
    async ({ query }) => {
      const slice = schemas.sliceOf(query);
      const { count, rows } = await store.accounts(slice);
      return schemas.envelope(count, slice, rows);
    },
  );
  listBaskets(app, store);
  app.get<{ Params: schemas.PkParams }>('/api/products/:pk', { schema: RETRIEVE }, retrieve);
  app.get<{ Params: schemas.PkParams }>(
    '/api/members/products/:pk',
    { schema: RETRIEVE, onRequest: authenticate },
    retrieve,
  );
  writeRecords(app, store);
  return { app };
});

function openStore(kind: ServerSettings['kind'], location: string): Store {
  switch (kind) {
    case 'sqlite':
      return new SqliteStore(location);
    case 'postgresql':
      return new PostgresStore(location);
    case 'mongodb':
      return new MongoStore(location);
  }
}

function listBaskets(app: FastifyInstance, store: Store): void {
  app.get<{ Querystring: schemas.PageQuery }>(
    '/api/baskets',
    { schema: { querystring: schemas.PageQuery, response: { 200: schemas.pageOf(schemas.BasketShape) } } },
    async ({ query }) => {
      const slice = schemas.sliceOf(query);
      const { count, rows } = await store.baskets(slice);
      return schemas.envelope(count, slice, rows);
    },
  );
}

function writeRecords(app: FastifyInstance, store: Store): void {
  app.patch<{ Params: schemas.PkParams; Body: schemas.StockBody }>(
    '/api/stocks/:pk',
    { schema: { ...RETRIEVE, body: schemas.StockBody } },
    async ({ params, body }, reply) => {
      const product = await store.setStock(params.pk, body.stock);
      return product ?? reply.code(404).send({ error: 'Not found' });
    },
  );
  app.post<{ Body: schemas.DraftBody }>(
    '/api/drafts',
    { schema: { body: schemas.DraftBody, response: { 201: schemas.ProductShape } } },
    async ({ body }, reply) => {
      const draft = await store.createDraft(body);
      reply.code(201).header('location', `/api/drafts/${draft.id}`);
      return draft;
    },
  );
}
