/** Files of a write in a transaction of the application's own, whose end the library does not see. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import t from 'tap';
import { type FileStore, FileType, file, ModelViewSet, readShape, Router, writeShape } from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Page = defineEntity({
  name: 'Page',
  properties: { id: p.integer().primary(), picture: p.type(FileType).nullable() },
});

const files = new Map<string, Buffer>();
const store: FileStore = {
  async put(key, content) {
    files.set(key, await buffer(content));
  },
  get: async (key) => Readable.from([files.get(key)!]),
  async delete(key) {
    files.delete(key);
  },
};

forEachDatabase(t, { entities: [Page] }, async (t, orm) => {
  const written = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  class Pages extends ModelViewSet(Page, {
    read: readShape(Page, ['id', 'picture']),
    write: writeShape(Page, [], { picture: file({ store, maxBytes: 100, types: ['text/plain'] }) }),
  }) {
    override async update(request: FastifyRequest, reply: FastifyReply) {
      reply.raw.once('close', () => gone.resolve());
      try {
        return await request.em.transactional(async () => {
          await super.update(request, reply);
          written.resolve();
          await gone.promise;
          throw new Error('too late');
        });
      } finally {
        ended.resolve();
      }
    }
  }

  await t.test('a client that goes away before a rollback takes no file of the record along', async (t) => {
    files.clear();
    files.set('old', Buffer.from('old'));
    const picture = { key: 'old', name: 'a.txt', size: 3, type: 'text/plain' };
    await orm.em.fork().insert(Page, { id: 1, picture });
    const app = await testApp(t, orm, [new Router().register('pages', Pages)]);
    await app.listen({ port: 0 });
    const { port } = app.server.address() as { port: number };
    const body = `--f\r\ncontent-disposition: form-data; name="picture"; filename="b.txt"\r\ncontent-type: text/plain\r\n\r\nnew\r\n--f--\r\n`;
    const head = `PATCH /pages/1 HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=f\r\ncontent-length: ${body.length}\r\n\r\n`;
    const socket = connect(port);
    await once(socket, 'connect');
    socket.write(head + body);
    await written.promise;
    socket.destroy();
    await ended.promise;
    const page: InferEntity<typeof Page> = await orm.em.fork().findOneOrFail(Page, 1);
    t.equal(page.picture?.key, 'old');
    t.ok(files.has('old'), 'the file that the record refers to is there');
  });
});
