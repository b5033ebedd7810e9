/** The application of the tests: books with a cover, and the requests whose responses no plugin may change. */
import { defineEntity, p } from '@mikro-orm/core';
import { MikroORM } from '@mikro-orm/sqlite';
import {
  type FileStore,
  file,
  FileType,
  HealthRegistry,
  ModelViewSet,
  readShape,
  Router,
  SqliteHealthCheck,
  viewset,
  type ViewsetOptions,
  writeShape,
} from '@viewset/core';
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import { Readable } from 'node:stream';
import type { Test } from 'tap';

const BookSchema = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(100).unique(),
    price: p.decimal('number').precision(10).scale(2),
    cover: p.type(FileType).nullable(),
  },
});
class Book extends BookSchema.class {}
BookSchema.setClass(Book);

const files = new Map<string, Buffer>();
const store: FileStore = {
  put: async (key, content) => {
    const chunks: Buffer[] = [];
    for await (const chunk of content) chunks.push(chunk as Buffer);
    files.set(key, Buffer.concat(chunks));
  },
  get: async (key) => Readable.from([files.get(key)!]),
  delete: async (key) => void files.delete(key),
};

class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title', 'price']),
  write: writeShape(Book, ['title', 'price']),
  filterFields: { min_price: 'price__gte' },
}) {}

/** Has a form with a file, so that its routes use `@fastify/multipart`. */
class CoverViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title', 'cover']),
  write: writeShape(Book, ['title', 'price'], { cover: file({ store, maxBytes: 1000, types: ['text/plain'] }) }),
}) {}

/** Makes an empty database. */
export async function newOrm(): Promise<MikroORM> {
  const orm = await MikroORM.init({ dbName: ':memory:', entities: [Book] });
  await orm.schema.create();
  return orm;
}

/** Makes an empty database, closed when the test ends. */
export async function openOrm(t: Test): Promise<MikroORM> {
  const orm = await newOrm();
  t.teardown(() => orm.close(true));
  return orm;
}

/** Registers the plugin. */
export async function addViewset(
  app: FastifyInstance,
  orm: MikroORM,
  options: Partial<ViewsetOptions> = {},
): Promise<void> {
  const health = new HealthRegistry().register(new SqliteHealthCheck(orm));
  await app.register(viewset, { orm, health, ...options });
}

/** Registers the views. */
export async function addViews(app: FastifyInstance): Promise<void> {
  await app.register(newRouter().plugin, { prefix: '/api' });
}

export function newRouter(): Router {
  return new Router().register('books', BookViewSet).register('covers', CoverViewSet);
}

/** The bytes of a form with a title, a price and a cover, and its headers. */
export function form(title: string, content = 'abc'): Pick<InjectOptions, 'headers' | 'payload'> {
  const boundary = '----test';
  const field = (name: string, value: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const cover = `--${boundary}\r\nContent-Disposition: form-data; name="cover"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\n${content}\r\n`;
  return {
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    payload: `${field('title', title)}${field('price', '5')}${cover}--${boundary}--\r\n`,
  };
}

/** Sends the requests that every application answers alike, and compares the responses. */
export async function testRequests(t: Test, app: FastifyInstance, prefix = ''): Promise<void> {
  const ask = async (options: InjectOptions & { readonly url: string }): Promise<LightMyRequestResponse> =>
    app.inject({ ...options, url: prefix + options.url });
  const read = (response: LightMyRequestResponse): unknown => (response.body === '' ? undefined : response.json());

  const created = await ask({ method: 'POST', url: '/api/books', payload: { title: 'Emma', price: 9.5, owner: 'me' } });
  t.strictSame([created.statusCode, read(created)], [201, { id: 1, title: 'Emma', price: 9.5 }], 'a write');
  t.equal(created.headers.location, `${prefix}/api/books/1`);

  const list = await ask({ method: 'GET', url: '/api/books?min_price=9' });
  const page = { count: 1, next: false, previous: false, results: [{ id: 1, title: 'Emma', price: 9.5 }] };
  t.strictSame([list.statusCode, read(list)], [200, page], 'a list');
  t.match(list.headers['content-type'], /^application\/json/);
  const head = await ask({ method: 'HEAD', url: '/api/books?min_price=9' });
  t.strictSame([head.statusCode, head.body], [200, ''], 'HEAD of a list');

  const patched = await ask({ method: 'PATCH', url: '/api/books/1', payload: { price: 7 } });
  t.strictSame([patched.statusCode, read(patched)], [200, { id: 1, title: 'Emma', price: 7 }], 'an update');
  const covered = await ask({ method: 'POST', url: '/api/covers', ...form('Persuasion') });
  t.match(
    [covered.statusCode, read(covered)],
    [201, { id: 2, title: 'Persuasion', cover: { name: 'a.txt', size: 3 } }],
  );
  const cover = await ask({ method: 'GET', url: '/api/covers/2/cover' });
  t.strictSame([cover.statusCode, cover.body], [200, 'abc'], 'a file');

  for (const [status, code, options] of [
    [400, 'invalid_usage', { method: 'POST', url: '/api/books', payload: { title: '', price: 'x' } }],
    [
      400,
      'parse_error',
      { method: 'POST', url: '/api/books', payload: '{', headers: { 'content-type': 'application/json' } },
    ],
    [400, 'invalid_usage', { method: 'GET', url: '/api/books?nonsense=1' }],
    [404, 'not_found', { method: 'GET', url: '/api/books/99' }],
    [404, 'not_found', { method: 'GET', url: '/api/nope' }],
    [405, 'method_not_allowed', { method: 'DELETE', url: '/api/books' }],
    [409, 'conflict', { method: 'POST', url: '/api/books', payload: { title: 'Emma', price: 1 } }],
    [415, 'unsupported_media_type', { method: 'POST', url: '/api/books', ...form('Sanditon') }],
    [
      415,
      'unsupported_media_type',
      {
        method: 'POST',
        url: '/api/books',
        payload: 'title=a',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      },
    ],
  ] as const) {
    const response = await ask(options);
    const { code: received } = (read(response) ?? {}) as { code?: string };
    t.strictSame([response.statusCode, received], [status, code], `${options.method} ${options.url}: ${response.body}`);
  }
  const options = await ask({ method: 'OPTIONS', url: '/api/books' });
  t.strictSame([options.statusCode, options.headers.allow], [204, 'GET, HEAD, POST, OPTIONS'], 'OPTIONS');
  const removed = await ask({ method: 'DELETE', url: '/api/books/1' });
  t.strictSame([removed.statusCode, removed.body], [204, ''], 'a deletion');

  for (const path of ['/health/', '/health/live', '/health/ready']) {
    const { statusCode, body } = await ask({ method: 'GET', url: path });
    t.match([statusCode, body], [200, /"status":"ok"/], path);
  }
}
