/** The streams of files are closed, whatever becomes of the request that they were opened for: each holds a file or a connection open. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyInstance } from 'fastify';
import { Disk } from 'flydrive';
import { FSDriver } from 'flydrive/drivers/fs';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { file, FileType, flydriveStore, ModelViewSet, readShape, Router, writeShape } from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Ticket = defineEntity({
  name: 'Ticket',
  properties: { id: p.integer().primary(), manual: p.type(FileType).nullable() },
});

const nothing = async (): Promise<void> => {};
/** What a disk does before it takes a file, and before it opens one. */
let [onPut, onGet]: ((content?: Readable) => Promise<unknown>)[] = [nothing, nothing];
let onDelete = (): void => {};
let disk: Disk;
/** The streams that the disk was given or has opened. */
const streams: Readable[] = [];
const store = flydriveStore({
  async putStream(key, content, options) {
    streams.push(content);
    await onPut!(content);
    return disk.putStream(key, content, options);
  },
  async getStream(key) {
    await onGet!();
    const content = await disk.getStream(key);
    streams.push(content);
    return content;
  },
  delete: (key) => {
    onDelete();
    return disk.delete(key);
  },
});

class TicketViewSet extends ModelViewSet(Ticket, {
  read: readShape(Ticket, ['id', 'manual']),
  write: writeShape(Ticket, [], { manual: file({ store, maxBytes: 1_000_000, types: ['text/plain'] }) }),
}) {}

const FORM = {
  method: 'POST',
  url: '/tickets',
  headers: { 'content-type': 'multipart/form-data; boundary=fence' },
  payload:
    '--fence\r\ncontent-disposition: form-data; name="manual"; filename="a.txt"\r\ncontent-type: text/plain\r\n\r\n' +
    `${'a'.repeat(500_000)}\r\n--fence--\r\n`,
} as const;

/** Tells if so many streams were opened, and are closed before long. */
async function closed(count: number): Promise<boolean> {
  for (let tries = 0; tries < 500; tries++) {
    if (streams.length === count && streams.every((stream) => stream.closed)) return true;
    await sleep(20);
  }
  return false;
}

forEachDatabase(t, { entities: [Ticket] }, async (t, orm) => {
  let app: FastifyInstance;
  const serve = async (handlerTimeoutMs: number, before?: (app: FastifyInstance) => void): Promise<number> => {
    await orm.schema.refresh();
    [onPut, onGet] = [nothing, nothing];
    const location = await mkdtemp(join(tmpdir(), 'file-streams-test-'));
    t.teardown(() => rm(location, { recursive: true, force: true }));
    disk = new Disk(new FSDriver({ location, visibility: 'private' }));
    const router = (): Router => new Router().register('tickets', TicketViewSet) as Router;
    // The file is stored by another application, which has as long as it takes.
    const making = await testApp(t, orm, [router()]);
    t.equal((await making.inject(FORM)).statusCode, 201);
    app = await testApp(t, orm, [router()], { options: { handlerTimeoutMs }, ...(before && { before }) });
    streams.length = 0;
    await app.listen({ port: 0 });
    return (app.server.address() as { port: number }).port;
  };

  await t.test('a file that its store does not take, at once or later', async (t) => {
    await serve(10_000);
    for (const later of [nothing, (content?: Readable) => once(content!, 'readable')]) {
      onPut = async (content) => {
        await later(content);
        throw new Error('the store is full');
      };
      t.equal((await app.inject(FORM)).statusCode, 500);
    }
    t.ok(await closed(2));
  });

  await t.test('a store error is logged even if deleting the incomplete file fails too, synchronously', async (t) => {
    const logged: string[] = [];
    await serve(10_000, (to) => {
      to.addHook('onError', async (_request, _reply, error) => void logged.push(error.message));
    });
    onPut = async () => {
      throw new Error('the store is full');
    };
    onDelete = () => {
      throw new Error('nothing can be deleted');
    };
    t.teardown(() => (onDelete = () => {}));
    t.equal((await app.inject(FORM)).statusCode, 500);
    t.strictSame(logged, ['the store is full']);
    onDelete = () => {};
  });

  for (const [what, range] of [
    ['a file', ''],
    ['a part of a file', 'range: bytes=10-\r\n'],
  ] as const) {
    const ask = (port: number) => {
      const socket = connect(port, '127.0.0.1');
      socket.write(`GET /tickets/1/manual HTTP/1.1\r\nhost: x\r\n${range}\r\n`);
      return socket;
    };

    await t.test(`${what} whose client disconnects while and after the store opens it`, async (t) => {
      const port = await serve(10_000);
      const begun = Promise.withResolvers<void>();
      const gone = Promise.withResolvers<void>();
      onGet = () => (begun.resolve(), gone.promise);
      const socket = ask(port);
      app.server.once('request', (_request, response: NodeJS.EventEmitter) => response.once('close', gone.resolve));
      await begun.promise;
      socket.destroy();
      await gone.promise;
      onGet = nothing;
      const other = ask(port);
      await once(other, 'data');
      other.destroy();
      t.ok(await closed(2));
    });

    await t.test(`${what} that the store opens after the request has timed out`, async (t) => {
      const port = await serve(50);
      const answered = Promise.withResolvers<void>();
      onGet = () => answered.promise;
      const socket = ask(port);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      t.match(answer.toString(), /^HTTP\/1.1 503/);
      answered.resolve();
      t.ok(await closed(1));
      socket.destroy();
    });

    await t.test(`${what} that breaks while onSend hooks run is an error`, async (t) => {
      let sending = nothing;
      await serve(10_000, (app) => void app.addHook('onSend', async () => sending()));
      sending = async () => {
        sending = nothing;
        streams[0]!.destroy(new Error('the store is gone'));
        await closed(1);
      };
      const headers = { range: range.slice('range: '.length).trim() };
      t.equal((await app.inject({ url: '/tickets/1/manual', headers })).statusCode, 500);
    });
  }
});
