/**
 * `node bench/memory/upload.ts [megabytes]`: the memory of a server that takes one large file, by the growth of its resident set
 * from before the upload to its highest during it. The client is another process.
 */
import { defineEntity, p } from '@mikro-orm/core';
import { MikroORM } from '@mikro-orm/sqlite';
import { file, FileType, flydriveStore, ModelViewSet, readShape, Router, viewset, writeShape } from '@viewset/core';
import { fastify } from 'fastify';
import { Disk } from 'flydrive';
import { FSDriver } from 'flydrive/drivers/fs';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEGABYTE = 1024 * 1024;
const [megabytes, role] = [Number(process.argv[2] ?? 100), process.argv[3]];

if (role === 'client') await upload(Number(process.argv[4]));
else await measure();

async function measure(): Promise<void> {
  const location = await mkdtemp(join(tmpdir(), 'upload-bench-'));
  const Ticket = defineEntity({
    name: 'Ticket',
    properties: { id: p.integer().primary(), attachment: p.type(FileType) },
  });
  const store = flydriveStore(new Disk(new FSDriver({ location, visibility: 'private' })));
  const write = writeShape(Ticket, [], {
    attachment: file({ store, maxBytes: (megabytes + 1) * MEGABYTE, types: ['text/plain'] }),
  });
  class TicketViewSet extends ModelViewSet(Ticket, { read: readShape(Ticket, ['id', 'attachment']), write }) {}
  const orm = await MikroORM.init({ dbName: ':memory:', entities: [Ticket] });
  await orm.schema.create();
  const app = fastify();
  await app.register(viewset, { orm });
  await app.register(new Router().register('tickets', TicketViewSet).plugin);
  await app.listen({ port: 0 });
  const { port } = app.server.address() as { port: number };
  // A small upload brings the code, and the first large one the room that V8 takes for young objects.
  for (const size of [1, megabytes, megabytes]) {
    const before = process.memoryUsage.rss();
    let highest = before;
    const watch = setInterval(() => (highest = Math.max(highest, process.memoryUsage.rss())), 5);
    await client(port, size);
    clearInterval(watch);
    console.log(`${size} MB uploaded: the resident set grew by ${((highest - before) / MEGABYTE).toFixed(1)} MB`);
  }
  await app.close();
  await orm.close();
  await rm(location, { recursive: true });
}

async function client(port: number, size: number): Promise<void> {
  const [code] = (await once(fork(import.meta.filename, [String(size), 'client', String(port)]), 'exit')) as [number];
  if (code !== 0) throw new Error('The upload failed');
}

async function upload(port: number): Promise<void> {
  const sending = request({
    port,
    path: '/tickets',
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=fence' },
  });
  const answered = once(sending, 'response');
  sending.write(
    '--fence\r\ncontent-disposition: form-data; name="attachment"; filename="a.txt"\r\ncontent-type: text/plain\r\n\r\n',
  );
  const chunk = Buffer.alloc(MEGABYTE, 'a');
  for (let sent = 0; sent < megabytes; sent++) if (!sending.write(chunk)) await once(sending, 'drain');
  sending.end('\r\n--fence--\r\n');
  const [answer] = (await answered) as [{ statusCode: number; resume(): void }];
  answer.resume();
  if (answer.statusCode !== 201) process.exit(1);
}
