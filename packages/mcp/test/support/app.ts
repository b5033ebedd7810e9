import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { defineEntity, type InferEntity, type MikroORM, p } from '@mikro-orm/core';
import {
  action,
  file,
  type FileStore,
  FileType,
  IsAuthenticated,
  IsSafeMethodOnly,
  ModelViewSet,
  Permission,
  readShape,
  Router,
  serverOptions,
  viewset,
  type ViewsetOptions,
  writeShape,
} from '@viewset/core';
import { IdempotencyKeys, IdempotencyRecord } from '@viewset/idempotency';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Test } from 'tap';
import { Type } from 'typebox';
import { mcp, type McpOptions } from '../../src/index.ts';

export const Author = defineEntity({
  name: 'Author',
  properties: { id: p.integer().primary(), name: p.string().length(50) },
});
export const Book = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(100),
    pages: p.integer().default(0),
    notes: p.text().default(''),
    author: () => p.manyToOne(Author).nullable(),
    version: p.integer().version(),
  },
});
export const Profile = defineEntity({
  name: 'Profile',
  properties: { id: p.integer().primary(), owner: p.integer().unique(), theme: p.string().length(20) },
});
export const Scan = defineEntity({
  name: 'Scan',
  properties: { id: p.integer().primary(), name: p.string().length(20), picture: p.type(FileType) },
});
export const ENTITIES = [Author, Book, Profile, Scan, IdempotencyRecord];

const files = new Map<string, Buffer>();
const store: FileStore = {
  put: async (key, content) => void files.set(key, await buffer(content)),
  get: async (key) => Readable.from([files.get(key)!]),
  delete: async (key) => void files.delete(key),
};

class IsLibrarian extends Permission {
  override hasPermission({ user }: FastifyRequest): boolean {
    return user?.role?.name === 'librarian';
  }
}

class AuthorViewSet extends ModelViewSet(Author, {
  read: readShape(Author, ['id', 'name']),
  write: writeShape(Author, ['name']),
  permissionClasses: [IsSafeMethodOnly.or(IsAuthenticated)],
  searchFields: ['name'],
  description: 'Those who write books.',
}) {}

const bookOptions = {
  read: readShape(Book, ['id', 'title', 'pages', 'notes']),
  write: writeShape(Book, ['title', 'pages', 'notes']),
  permissionClasses: [IsSafeMethodOnly.or(IsAuthenticated)],
} as const;

export class BookViewSet extends ModelViewSet(Book, {
  ...bookOptions,
  searchFields: ['title'],
  filterFields: { min_pages: 'pages__gte', ids: 'id__in' },
  orderingFields: { title: 'title', pages: 'pages' },
  fieldWords: { title: { description: 'As on the cover' } },
  bulk: 10,
}) {
  /** POST /api/books/:pk/rate */
  rate = action(
    {
      methods: ['post'],
      detail: true,
      summary: 'Rate a book',
      body: Type.Object({ stars: Type.Integer({ minimum: 1, maximum: 5 }) }),
      response: Type.Object({ title: Type.String(), stars: Type.Integer() }),
    },
    async (request) => {
      const { title } = await this.getObject(request);
      return { title, stars: request.body.stars };
    },
  );

  /** GET /api/books/longest */
  longest = action({}, async (request) => ({
    results: await this.rows(this.getQueryset(request).orderBy('-pages').slice(0, 1)),
  }));

  /** POST /api/books/purge, for librarians alone. */
  purge = action({ methods: ['post'], permissionClasses: [IsLibrarian] }, async () => ({ purged: true }));

  /** POST /api/books/print: its response is no JSON. */
  print = action({ methods: ['post'] }, async (_request, reply) =>
    reply.type('application/pdf').send(Buffer.from('%')),
  );
}

class AuthorBookViewSet extends ModelViewSet(Book, bookOptions) {}

class ProfileViewSet extends ModelViewSet(Profile, {
  read: readShape(Profile, ['theme']),
  write: writeShape(Profile, ['theme']),
  permissionClasses: [IsAuthenticated],
  singleton: ({ user }) => user && { owner: Number(user.id) },
}) {}

class ScanViewSet extends ModelViewSet(Scan, {
  read: readShape(Scan, ['id', 'name', 'picture']),
  write: writeShape(Scan, ['name'], { picture: file({ store, maxBytes: 1000, types: ['image/png'] }) }),
}) {}

/** A resource that no option names. */
class SecretViewSet extends ModelViewSet(Author, { read: readShape(Author, ['id', 'name']) }) {}

export const RESOURCES = ['authors', 'books', 'authors-books', 'profile', 'scans'];

export interface LibraryOptions {
  readonly options?: Partial<ViewsetOptions>;
  readonly mcp?: Partial<McpOptions>;
  /** Registered before `mcp`. */
  readonly first?: (app: FastifyInstance) => unknown;
  /** Registered after `mcp`, before the router. */
  readonly before?: (app: FastifyInstance) => unknown;
  readonly routers?: readonly Router[];
}

/** A listening application. The header `x-user: 7 librarian` logs in the user 7 with that role. */
export async function startLibrary(t: Test, orm: MikroORM, given: LibraryOptions = {}) {
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(viewset, { orm, ...given.options });
  app.addHook('onRequest', async (request) => {
    const [id, name = 'reader'] = String(request.headers['x-user'] ?? '').split(' ');
    if (id !== '') request.user = { id: Number(id), role: { name } };
  });
  await given.first?.(app);
  await app.register(mcp, { resources: RESOURCES, anonymous: true, headers: ['X-User'], ...given.mcp });
  await given.before?.(app);
  const router = new Router({ prefix: 'api' })
    .register('authors', AuthorViewSet)
    .register('books', BookViewSet)
    .register('authors/:author/books', AuthorBookViewSet)
    .register('profile', ProfileViewSet)
    .register('scans', ScanViewSet)
    .register('secrets', SecretViewSet);
  for (const each of [router, ...(given.routers ?? [])]) await app.register(each.plugin);
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  return { app, url: `${address}/mcp` };
}

/** Some books and their author. */
export async function fillLibrary(orm: MikroORM): Promise<void> {
  const em = orm.em.fork();
  const ada = em.create(Author, { name: 'Ada' });
  await em.flush();
  em.create(Author, { name: 'Grace' });
  await em.flush();
  for (const [index, title] of ['Ash', 'Birch', 'Cedar', 'Date', 'Elm'].entries()) {
    em.create(Book, { title, pages: 100 * (index + 1), author: index < 2 ? ada : null });
    await em.flush();
  }
  em.create(Profile, { owner: 7, theme: 'dark' });
  await em.flush();
}

/** The members of results that tests read. */
export interface ToolValue {
  readonly error: string;
  readonly record: { readonly id: number };
  readonly records: readonly { readonly id: number; readonly title: string }[];
  readonly count: number;
  readonly next: Readonly<Record<string, unknown>> | null;
  readonly etag: string;
  readonly resources: Readonly<Record<string, string>>;
  readonly search: { readonly query: Readonly<Record<string, object>> };
  readonly actions: object;
  readonly left_out: readonly string[];
  readonly known_resources: readonly string[];
}

/** A result of a tool. */
export interface Called {
  readonly isError: boolean;
  readonly value: ToolValue;
}

export interface Tools {
  readonly client: Client;
  readonly call: (name: string, args?: Record<string, unknown>) => Promise<Called>;
}

/** A client of the SDK, of the newest revision of the protocol unless another one is named. */
export async function connect(
  t: Test,
  url: string,
  user?: string,
  mode: 'modern' | 'legacy' = 'modern',
): Promise<Tools> {
  const versionNegotiation = mode === 'modern' ? { mode: { pin: '2026-07-28' } } : { mode: 'legacy' };
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation } as never);
  const headers: Record<string, string> = user === undefined ? {} : { 'x-user': user };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport);
  t.teardown(() => client.close());
  const call = async (name: string, args: Record<string, unknown> = {}): Promise<Called> => {
    const { isError = false, content, structuredContent } = await client.callTool({ name, arguments: args });
    const [first] = content as { type: string; text: string }[];
    const value = JSON.parse(first!.text) as ToolValue;
    t.strictSame(structuredContent, value, 'the text and the structure of a result are the same');
    return { isError, value };
  };
  return { client, call };
}

export type BookRecord = InferEntity<typeof Book>;
export { IdempotencyKeys };
