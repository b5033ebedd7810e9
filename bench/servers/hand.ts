/** hand: Fastify and MikroORM as its documentation teaches them: a context a request, findAndCount, serialize. */
import fastifyJwt from '@fastify/jwt';
import {
  type EntityManager,
  type FilterQuery,
  type InferEntity,
  type QueryOrderMap,
  RequestContext,
  serialize,
  wrap,
} from '@mikro-orm/core';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { DatabaseKind } from '../data/database.ts';
import { Account, Basket, Draft, Product } from '../data/entities.ts';
import { openOrm } from '../data/open-orm.ts';
import * as schemas from './schemas.ts';
import { type BenchServer, serve } from './serve.ts';

type ProductEntity = InferEntity<typeof Product>;

declare module 'fastify' {
  interface FastifyRequest {
    loggedIn: InferEntity<typeof Account> | null;
  }
}

/** A text anywhere in a name, in any case, in the form that MikroORM uses for each database. */
const CONTAINS: Readonly<Record<DatabaseKind, (text: string) => FilterQuery<ProductEntity>>> = {
  sqlite: (text) => ({ name: { $like: `%${text}%` } }),
  postgresql: (text) => ({ name: { $ilike: `%${text}%` } }),
  mongodb: (text) => ({ name: new RegExp(escapeRegExp(text), 'i') }),
};

const SORT_NAMES = new Set(['id', 'name', 'price', 'stock']);

const RETRIEVE = { params: schemas.PkParams, response: { 200: schemas.ProductShape } };

await serve(async ({ kind, location, secret }): Promise<BenchServer> => {
  const orm = await openOrm(kind, location);
  const { em } = orm;
  const contains = CONTAINS[kind];
  const app = fastify();
  app.addHook('onRequest', (_request, _reply, done) => RequestContext.create(em, done));
  app.addHook('onClose', async () => orm.close());
  await app.register(fastifyJwt, { secret, verify: { algorithms: ['HS256'], requiredClaims: ['iat', 'exp'] } });
  app.decorateRequest('loggedIn', null);

  const authenticate = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { user_id: id } = await request.jwtVerify<{ user_id: number }>();
    const account = await em.findOne(Account, { id, is_active: true }, { populate: ['role'] });
    if (account === null) return void reply.code(401).send({ error: 'Authentication is required' });
    request.loggedIn = account;
  };

  const retrieve = async ({ params }: { params: schemas.PkParams }, reply: FastifyReply): Promise<schemas.Product> => {
    const product = await em.findOne(Product, params.pk);
    return product === null ? reply.code(404).send({ error: 'Not found' }) : wrap(product).toObject();
  };

  app.get<{ Querystring: schemas.ProductsQuery }>(
    '/api/products',
    { schema: { querystring: schemas.ProductsQuery, response: { 200: schemas.pageOf(schemas.ProductShape) } } },
    async ({ query }) => {
      const slice = schemas.sliceOf(query);
      const where = productsWhere(query, contains);
      const [products, count] = await em.findAndCount(Product, where, { ...slice, orderBy: productsOrder(query.sort) });
      return schemas.envelope(count, slice, serialize(products));
    },
  );
  app.get<{ Querystring: schemas.PageQuery }>(
    '/api/accounts',
    { schema: { querystring: schemas.PageQuery, response: { 200: schemas.pageOf(schemas.AccountShape) } } },
    async ({ query }) => {
      const slice = schemas.sliceOf(query);
      const populate = ['role'] as const;
      const [found, count] = await em.findAndCount(Account, {}, { ...slice, orderBy: { id: 'asc' }, populate });
      const accounts = serialize(found, { populate });
      return schemas.envelope(count, slice, accounts.map(toAccount));
    },
  );
  listBaskets(app, em);
  app.get<{ Params: schemas.PkParams }>('/api/products/:pk', { schema: RETRIEVE }, retrieve);
  app.get<{ Params: schemas.PkParams }>(
    '/api/members/products/:pk',
    { schema: RETRIEVE, onRequest: authenticate },
    retrieve,
  );
  writeRecords(app, em);
  return { app };
});

function writeRecords(app: FastifyInstance, em: EntityManager): void {
  app.patch<{ Params: schemas.PkParams; Body: schemas.StockBody }>(
    '/api/stocks/:pk',
    { schema: { ...RETRIEVE, body: schemas.StockBody } },
    async ({ params, body }, reply) => {
      const product = await em.findOne(Product, params.pk);
      if (product === null) return reply.code(404).send({ error: 'Not found' });
      em.assign(product, body);
      await em.flush();
      return wrap(product).toObject();
    },
  );
  app.post<{ Body: schemas.DraftBody }>(
    '/api/drafts',
    { schema: { body: schemas.DraftBody, response: { 201: schemas.ProductShape } } },
    async ({ body }, reply) => {
      const draft = em.create(Draft, body);
      await em.flush();
      reply.code(201).header('location', `/api/drafts/${draft.id}`);
      return serialize(draft);
    },
  );
}

function listBaskets(app: FastifyInstance, em: EntityManager): void {
  app.get<{ Querystring: schemas.PageQuery }>(
    '/api/baskets',
    { schema: { querystring: schemas.PageQuery, response: { 200: schemas.pageOf(schemas.BasketShape) } } },
    async ({ query }) => {
      const slice = schemas.sliceOf(query);
      const populate = ['lines', 'labels'] as const;
      const orderBy = { id: 'asc', lines: { id: 'asc' }, labels: { id: 'asc' } } as const;
      const [found, count] = await em.findAndCount(
        Basket,
        {},
        { ...slice, orderBy: { id: 'asc' }, populate, populateOrderBy: orderBy },
      );
      return schemas.envelope(count, slice, serialize(found, { populate }).map(toBasket));
    },
  );
}

type SerializedAccount = Omit<schemas.Account, 'role'> & {
  readonly role?: { readonly name: string } | null | undefined;
};

type SerializedBasket = Omit<schemas.Basket, 'labels'> & { readonly labels: readonly { readonly name: string }[] };

function toBasket({ id, name, lines, labels }: SerializedBasket): schemas.Basket {
  return { id, name, lines, labels: labels.map((label) => label.name) };
}

function toAccount({ id, email, name, is_active, role }: SerializedAccount): schemas.Account {
  return { id, email, name, is_active, role: role?.name ?? null };
}

function productsWhere(
  query: schemas.ProductsQuery,
  contains: (typeof CONTAINS)[DatabaseKind],
): FilterQuery<ProductEntity> {
  const conditions: FilterQuery<ProductEntity>[] = [];
  for (const word of query.search?.split(/\s+/).filter(Boolean) ?? []) {
    conditions.push(contains(word));
  }
  if (query.min_price !== undefined) conditions.push({ price: { $gte: query.min_price } });
  if (query.max_price !== undefined) conditions.push({ price: { $lte: query.max_price } });
  if (query.min_stock !== undefined) conditions.push({ stock: { $gte: query.min_stock } });
  if (query.name !== undefined) conditions.push({ name: query.name });
  return conditions.length === 0 ? {} : { $and: conditions };
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}

function productsOrder(sort: string | undefined): QueryOrderMap<ProductEntity>[] {
  const names = sort?.split(',') ?? [];
  const keys = names.map((key) => {
    const name = key.replace(/^-/, '');
    if (!SORT_NAMES.has(name)) throw Object.assign(new Error('Unknown sort name'), { statusCode: 400 });
    return { [name]: key.startsWith('-') ? 'desc' : 'asc' };
  });
  return [...keys, { id: 'asc' }] as QueryOrderMap<ProductEntity>[];
}
