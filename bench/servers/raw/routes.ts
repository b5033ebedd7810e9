import type { FastifyInstance, FastifyReply, onRequestAsyncHookHandler } from 'fastify';
import * as schemas from '../schemas.ts';
import type { ServerSettings } from '../serve.ts';
import { MongoStore } from './mongo-store.ts';
import { PostgresStore } from './postgres-store.ts';
import { SqliteStore } from './sqlite-store.ts';
import type { Store } from './store.ts';

const RETRIEVE = { params: schemas.PkParams, response: { 200: schemas.ProductShape } };

/**
 * Adds all endpoints, each written by hand.
 *
 * @param authenticate runs before the members' products; if it is not given, another hook authenticates
 */
export function addRoutes(app: FastifyInstance, store: Store, authenticate?: onRequestAsyncHookHandler): void {
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
    { schema: RETRIEVE, ...(authenticate === undefined ? {} : { onRequest: authenticate }) },
    retrieve,
  );
  writeRecords(app, store);
}

export function openStore(kind: ServerSettings['kind'], location: string): Store {
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
