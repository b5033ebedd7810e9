import { defineEntity, p, type MikroORM } from '@mikro-orm/core';
import { type AccountUser, auth } from '@viewset/auth';
import {
  IPRateLimit,
  IsAuthenticated,
  IsSafeMethodOnly,
  MemoryStore,
  ModelViewSet,
  readShape,
  Router,
  serverOptions,
  type Store,
  viewset,
  writeShape,
} from '@viewset/core';
import fastify, { type FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { MailBox, missingServer, TEST_DATABASES, testApp, type TestApp } from '../../src/index.ts';

declare module '@viewset/core' {
  interface ViewsetTypes {
    user: AccountUser;
  }
}

const RoleSchema = defineEntity({
  name: 'Role',
  properties: { id: p.integer().primary(), name: p.string().length(50).unique() },
});
export class Role extends RoleSchema.class {}
RoleSchema.setClass(Role);

const AccountSchema = defineEntity({
  name: 'Account',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(100),
    email: p.string().length(255).unique(),
    password: p.string().length(255).hidden(),
    role: () => p.manyToOne(Role).nullable(),
    is_active: p.boolean().default(true),
    last_login: p.datetime().nullable(),
  },
});
export class Account extends AccountSchema.class {}
AccountSchema.setClass(Account);

const AuthorSchema = defineEntity({
  name: 'Author',
  properties: { id: p.integer().primary(), name: p.string().length(60).unique() },
});
export class Author extends AuthorSchema.class {}
AuthorSchema.setClass(Author);

const BookSchema = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(12),
    isbn: p.string().length(13).unique(),
    kind: p.enum(['novel', 'essay'] as const),
    price: p.decimal('number').precision(6).scale(2),
    published: p.date(),
    pages: p.integer().default(0),
    note: p.string().nullable(),
    author: () => p.manyToOne(Author),
  },
});
export class Book extends BookSchema.class {}
BookSchema.setClass(Book);

export const ENTITIES = [Role, Account, Author, Book];

export class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title', 'isbn', 'kind', 'price'], { author: 'author.name' }),
  write: writeShape(Book, ['title', 'isbn', 'kind', 'price', 'published', 'note'], { author: 'author.name' }),
  filterFields: { kind: 'kind', min_price: 'price__gte' },
  orderingFields: { title: 'title', price: 'price' },
  searchFields: ['title'],
  permissionClasses: [IsSafeMethodOnly.or(IsAuthenticated)],
}) {}

export const libraryRouter = () => new Router({ prefix: 'api' }).register('books', BookViewSet);
export type Api = ReturnType<typeof libraryRouter>;

/** An application without accounts. */
export async function createApp(orm: MikroORM, store: Store = new MemoryStore()): Promise<FastifyInstance> {
  const app = fastify(serverOptions());
  await app.register(viewset, { orm, store, throttles: [new IPRateLimit(100, 60)] });
  await app.register(libraryRouter().plugin);
  return app;
}

/** An application with accounts. */
export async function createAppWithAccounts(
  orm: MikroORM,
  { mailer = new MailBox(), tokenScheme = 'Bearer' } = {},
): Promise<FastifyInstance> {
  const app = fastify(serverOptions());
  await app.register(viewset, { orm });
  const secret = 'a secret of 32 bytes for the tests';
  await app.register(auth, { account: Account, urlPrefix: '/api/auth', secret, bcryptRounds: 4, mailer, tokenScheme });
  await app.register(libraryRouter().plugin);
  return app;
}

/** Runs tests on every database, each with an application of its own. */
export function onEveryDatabase(
  build: (orm: MikroORM) => Promise<FastifyInstance>,
  body: (t: Test, library: TestApp) => Promise<void>,
): void {
  for (const database of TEST_DATABASES) {
    t.test(`on ${database}`, { skip: missingServer(database) }, async (t) => {
      const library = await testApp(build, { entities: ENTITIES, database });
      t.teardown(() => library.close());
      await body(t, library);
    });
  }
}
