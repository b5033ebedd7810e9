import { defineEntity, p } from '@mikro-orm/core';
import { file, type FileStore, FileType, ModelViewSet, readShape, Router, viewset, writeShape } from '@viewset/core';
import { fastify } from 'fastify';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import t from 'tap';
import { openSqlite } from '../../core/test/support/databases.ts';
import { createClient } from '../src/index.ts';

const Ticket = defineEntity({
  name: 'Ticket',
  properties: {
    id: p.integer().primary(),
    title: p.string(),
    weight: p.integer().default(1),
    tags: p.array().nullable(),
    screen: p.type(FileType).nullable(),
  },
});

const files = new Map<string, Buffer>();
const store: FileStore = {
  put: async (key, content) => void files.set(key, await buffer(content)),
  get: async (key) => Readable.from([files.get(key)!]),
  delete: async (key) => void files.delete(key),
};

class TicketViewSet extends ModelViewSet(Ticket, {
  read: readShape(Ticket, ['id', 'title', 'weight', 'tags', 'screen']),
  write: writeShape(Ticket, ['title', 'weight', 'tags'], {
    screen: file({ store, maxBytes: 1000, types: ['text/plain'] }),
  }),
}) {}

const router = new Router().register('tickets', TicketViewSet);

t.test('a record with a file is sent as a form, and any other as JSON', async (t) => {
  const app = fastify();
  t.teardown(() => app.close());
  await app.register(viewset, { orm: await openSqlite(t, { entities: [Ticket] }) });
  await app.register(router.plugin);
  const url = await app.listen({ port: 0 });
  const types: (string | null)[] = [];
  const api = createClient<typeof router>({
    url,
    fetch: (address, init) => {
      const request = new Request(address, init);
      types.push(request.headers.get('content-type')?.split(';')[0] ?? null);
      return fetch(request);
    },
  });
  const screen = new File(['hello'], 'hello.txt', { type: 'text/plain' });
  const made = await api.tickets.create({ title: '12', weight: 7, tags: ['a', 'b,c'], screen });
  t.match(made, {
    title: '12',
    weight: 7,
    tags: ['a', 'b,c'],
    screen: { name: 'hello.txt', size: 5, type: 'text/plain' },
  });
  t.equal(await (await fetch(url + made.screen!.url)).text(), 'hello');
  const changed = await api.tickets.update(made.id, {
    tags: null,
    screen: new Blob(['again'], { type: 'text/plain' }),
  });
  t.match(changed, { tags: null, screen: { size: 5 } });
  t.equal((await api.tickets.update(made.id, { screen: null })).screen, null);
  t.strictSame(types, ['multipart/form-data', 'multipart/form-data', 'application/json']);
  await t.rejects(api.tickets.create({ title: '', screen }), { code: 'invalid_usage' });
});
