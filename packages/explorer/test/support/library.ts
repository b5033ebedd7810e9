import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import { auth, type AuthOptions, LogEmailSender } from '@viewset/auth';
import {
  action,
  CursorPagination,
  type IPRateLimit,
  IsAuthenticated,
  IsRoleAdminUser,
  IsSafeMethodOnly,
  ModelViewSet,
  readShape,
  Router,
  serverOptions,
  viewset,
  writeShape,
} from '@viewset/core';
import { openapi } from '@viewset/openapi';
import { fastify, type FastifyInstance } from 'fastify';
import type { Test } from 'tap';
import { Type } from 'typebox';
import { Account, ApiKey, Identity, Passkey, Role, Session, TwoFactor } from '../../../auth/test/support/entities.ts';
import { explorer, type ExplorerOptions } from '../../src/index.ts';

export const Author = defineEntity({
  name: 'Author',
  properties: { id: p.integer().primary(), name: p.string().length(200).unique() },
});

export const Book = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(200),
    summary: p.text().nullable(),
    price: p.decimal('number').precision(8).scale(2),
    pages: p.integer().nullable(),
    binding: p.enum(['paper', 'cloth', 'leather']),
    is_lent: p.boolean().default(false),
    printed_on: p.date().nullable(),
    bought_at: p.datetime().nullable(),
    notes: p.json<Record<string, unknown>>().nullable(),
    author: () => p.manyToOne(Author),
    version: p.integer().version(),
  },
});

const SECRET = 'a secret of at least thirty-two bytes';

export const ENTITIES = [Role, Account, Session, TwoFactor, ApiKey, Identity, Passkey, Author, Book];

const MayWrite = IsSafeMethodOnly.or(IsAuthenticated);
const author = readShape(Author, ['id', 'name']);
const book = readShape(
  Book,
  ['id', 'title', 'summary', 'price', 'pages', 'binding', 'is_lent', 'printed_on', 'bought_at', 'notes'],
  { author },
);

class BookViewSet extends ModelViewSet(Book, {
  read: book,
  write: writeShape(Book, [
    'title',
    'price',
    'pages',
    'binding',
    'is_lent',
    'printed_on',
    'bought_at',
    'author',
    'summary',
    'notes',
  ]),
  searchFields: ['title'],
  filterFields: {
    min_price: 'price__gte',
    binding: 'binding',
    is_lent: 'is_lent',
    printed_after: 'printed_on__gte',
    author: 'author',
  },
  jsonLogicFields: ['price', 'pages'],
  orderingFields: { id: 'id', title: 'title', price: 'price' },
  permissionClasses: [MayWrite],
  description: 'What is on the shelves.',
  fieldWords: { price: { description: 'In euros' } },
  pageSize: 20,
}) {
  newest = action(
    {
      summary: 'List the newest books',
      listParameters: false,
      allowAnonymous: true,
      querystring: Type.Object({ count: Type.Integer({ minimum: 1, maximum: 10, default: 3 }) }),
      response: Type.Object({ results: Type.Array(book.schema) }),
    },
    async (request) => ({
      results: await this.rows(this.getQueryset(request).slice(0, request.query.count)),
    }),
  );

  lend = action(
    {
      methods: ['post'],
      detail: true,
      summary: 'Lend the book',
      body: Type.Object({ days: Type.Integer({ minimum: 1, maximum: 30 }), note: Type.Optional(Type.String()) }),
      response: Type.Object({ lent_for: Type.Integer() }),
    },
    (request) => ({ lent_for: request.body.days }),
  );
}

class AuthorViewSet extends ModelViewSet(Author, {
  read: author,
  write: writeShape(Author, ['name']),
  searchFields: ['name'],
  orderingFields: { name: 'name' },
  pagination: CursorPagination,
  permissionClasses: [IsSafeMethodOnly.or(IsRoleAdminUser)],
}) {}

class AccountViewSet extends ModelViewSet(Account, {
  read: readShape(Account, ['id', 'email', 'name'], { role: 'role.name' }),
  permissionClasses: [IsRoleAdminUser],
}) {}

export interface LibraryOptions {
  readonly options?: ExplorerOptions;
  readonly throttle?: IPRateLimit;
  /** Options of `auth` beside those that a library always has. */
  readonly accounts?: Partial<AuthOptions>;
  /** Registered between the explorer and the routers. */
  readonly within?: (app: FastifyInstance) => unknown;
}

/** A library with accounts, an explorer and a document. */
export async function startLibrary(t: Test, orm: MikroORM, given: LibraryOptions = {}): Promise<FastifyInstance> {
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(openapi, {
    info: { title: 'Library', version: '1.0.0', description: 'Books and their authors.' },
  });
  await app.register(viewset, { orm, secret: SECRET, throttles: given.throttle === undefined ? [] : [given.throttle] });
  await app.register(explorer, given.options ?? {});
  await given.within?.(app);
  await app.register(auth, {
    account: Account,
    urlPrefix: '/api/auth',
    secret: SECRET,
    bcryptRounds: 4,
    nonAuthEndpoints: ['/api/auth/login', 'GET /api/books*', 'GET /api/authors*'],
    mailer: new LogEmailSender(app.log),
    ...given.accounts,
  } as AuthOptions);
  const router = new Router({ prefix: 'api' })
    .register('books', BookViewSet)
    .register('authors', AuthorViewSet)
    .register('accounts', AccountViewSet);
  await app.register(router.plugin);
  return app;
}
