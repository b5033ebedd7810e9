import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import {
  action,
  computed,
  IPRateLimit,
  IsAuthenticated,
  ModelViewSet,
  readShape,
  Router,
  serverOptions,
  viewset,
  writeShape,
} from '@viewset/core';
import { fastify, type FastifyInstance } from 'fastify';
import type { Test } from 'tap';
import { Type } from 'typebox';
import { openapi, type OpenapiOptions } from '../../src/index.ts';

export const Publisher = defineEntity({
  name: 'Publisher',
  properties: { id: p.integer().primary(), name: p.string().length(100) },
});

export const Book = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(50),
    price: p.decimal('number').precision(6).scale(2),
    pages: p.integer().nullable(),
    publisher: () => p.manyToOne(Publisher).nullable(),
    published_at: p.datetime().nullable(),
  },
});

const publisher = readShape(Publisher, ['id', 'name']);
const book = readShape(Book, ['id', 'title', 'price', 'published_at'], {
  publisher,
  label: computed(Type.String(), ['title'], ({ title }) => title),
});

class BookViewSet extends ModelViewSet(Book, {
  read: book,
  write: writeShape(Book, ['title', 'price', 'pages']),
  searchFields: ['title'],
  filterFields: {
    min_price: 'price__gte',
    title: 'title',
    publisher: 'publisher__name__icontains',
    ids: 'id__in',
    pages: 'pages__range',
    unpriced: 'pages__isnull',
    published_after: 'published_at__gt',
  },
  orderingFields: { price: 'price', title: 'title' },
  pageSize: 20,
  maxPageSize: 50,
  description: 'What is on the shelves.',
  summaries: { list: 'Browse the books' },
  descriptions: { list: 'The newest first.' },
  examples: { create: { body: { title: 'Emma', price: 9.5 } } },
  fieldWords: { title: { description: 'As on the cover', examples: ['Emma'] } },
  parameterWords: { min_price: { description: 'In euros, at least', deprecated: true, examples: [5] } },
}) {
  newest = action(
    {
      allowAnonymous: true,
      listParameters: false,
      deprecated: true,
      querystring: Type.Object({ years: Type.Optional(Type.Array(Type.Integer())) }),
      response: Type.Object({ results: Type.Array(book.schema) }),
    },
    async (request) => ({ results: await this.rows(this.getQueryset(request)) }),
  );

  recount = action(
    {
      methods: ['post'],
      detail: true,
      permissionClasses: [IsAuthenticated],
      body: Type.Object({
        from: Type.Object({ page: Type.Integer({ default: 1 }) }),
        twice: Type.Boolean({ default: false }),
        // Named like keywords.
        example: Type.Optional(Type.String()),
        not: Type.Optional(Type.Object({ chapter: Type.Integer({ default: 1 }) })),
      }),
      responses: { 202: null },
    },
    (_request, reply) => reply.code(202).send(),
  );
}

class PublisherViewSet extends ModelViewSet(Publisher, { read: publisher, write: writeShape(Publisher, ['name']) }) {}

export const INFO = {
  title: 'Library',
  version: '1.0.0',
  description: 'Books and who made them.',
  contact: { name: 'The library' },
  license: { name: 'MIT', identifier: 'MIT' },
} as const;

interface AppOptions {
  readonly options?: OpenapiOptions;
  /** Registered before everything else. */
  readonly before?: (app: FastifyInstance) => unknown;
  /** Registered after everything else. */
  readonly after?: (app: FastifyInstance) => unknown;
}

/** An application with two views, two routes of its own, and a document. */
export async function startLibrary(t: Test, orm: MikroORM, given: AppOptions = {}): Promise<FastifyInstance> {
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await given.before?.(app);
  await app.register(openapi, given.options ?? { info: INFO });
  await app.register(viewset, { orm, throttles: [new IPRateLimit(1000, 60)] });
  await given.after?.(app);
  app.get(
    '/hours/:day',
    {
      schema: {
        operationId: 'hours',
        summary: 'Ask for the opening hours',
        params: Type.Object({ day: Type.String() }),
        response: { 200: Type.Object({ opens: Type.Integer() }) },
      },
    },
    () => ({ opens: 9 }),
  );
  app.get('/unspoken', () => 'has no schema');
  const router = new Router({ prefix: 'api' });
  router.register('books', BookViewSet).register('publishers', PublisherViewSet);
  await app.register(router.plugin);
  await app.ready();
  return app;
}

/** An application with a document, and what a test registers. */
export async function startApp(
  t: Test,
  orm: MikroORM,
  register: (app: FastifyInstance) => unknown,
): Promise<FastifyInstance> {
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(openapi, { info: INFO });
  await app.register(viewset, { orm });
  await register(app);
  await app.ready();
  return app;
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly deprecated?: boolean;
  readonly security: readonly object[];
  readonly parameters: readonly Readonly<Record<string, unknown>>[];
  readonly requestBody: unknown;
  readonly responses: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** What the tests look at of a document. */
export interface Document {
  readonly openapi: string;
  readonly info: unknown;
  readonly servers: unknown;
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

export async function documentOf(app: FastifyInstance): Promise<Document> {
  return (await app.inject('/openapi.json')).json<Document>();
}

/** Follows a reference of a document. */
export function resolve(document: Document, value: unknown): Record<string, unknown> {
  const { $ref } = (value ?? {}) as { $ref?: string };
  if ($ref === undefined) return value as Record<string, unknown>;
  const found = $ref
    .split('/')
    .slice(1)
    .reduce<unknown>((node, step) => (node as never)[step], document);
  return resolve(document, found);
}
