import { defineEntity, p } from '@mikro-orm/core';
import { file, type FileStore, FileType, ModelViewSet, readShape, Router, viewset, writeShape } from '@viewset/core';
import { fastify, type FastifyInstance } from 'fastify';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Test } from 'tap';
import { openSqlite } from '../../../core/test/support/databases.ts';

const TicketSchema = defineEntity({
  name: 'Ticket',
  properties: {
    id: p.integer().primary(),
    title: p.string(),
    weight: p.integer().default(1),
    tags: p.array().nullable(),
    screen: p.type(FileType).nullable(),
    version: p.integer().version(),
  },
});
class Ticket extends TicketSchema.class {}
TicketSchema.setClass(Ticket);

const files = new Map<string, Buffer>();
const store: FileStore = {
  put: async (key, content) => void files.set(key, await buffer(content)),
  get: async (key) => Readable.from([files.get(key)!]),
  delete: async (key) => void files.delete(key),
};

/** Records with files. */
const shapes = {
  read: readShape(Ticket, ['id', 'title', 'weight', 'tags', 'screen']),
  write: writeShape(Ticket, ['title', 'weight', 'tags'], {
    screen: file({ store, maxBytes: 5_000_000, types: ['text/plain'] }),
  }),
};
class TicketViewSet extends ModelViewSet(Ticket, shapes) {}
class EnvelopedViewSet extends ModelViewSet(Ticket, { ...shapes, envelope: { one: 'ticket' } }) {}

const ticketRouter = () =>
  new Router({ prefix: 'api' }).register('tickets', TicketViewSet).register('enveloped', EnvelopedViewSet);

export type Api = ReturnType<typeof ticketRouter>;

/** Serves tickets until the test ends. Returns the address of the server. */
export async function startTickets(t: Test, prepare: (app: FastifyInstance) => void = () => {}): Promise<string> {
  const app = fastify();
  t.teardown(() => app.close());
  await app.register(viewset, { orm: await openSqlite(t, { entities: [Ticket] }) });
  await app.register(ticketRouter().plugin);
  prepare(app);
  return app.listen({ port: 0, host: '127.0.0.1' });
}
