/**
 * `node bench/memory/slow-readers.ts [clients]`: the highest resident set of a server while this many clients request an export without
 * reading it, and how many requests of other clients succeed meanwhile. The clients are another process.
 */
import { defineEntity, p } from '@mikro-orm/core';
import { MikroORM } from '@mikro-orm/sqlite';
import { ModelViewSet, readShape, Router, serverOptions, viewset } from '@viewset/core';
import { fastify } from 'fastify';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const MEBIBYTE = 1024 * 1024;
const RECORDS = 4000;
const RECORD_LENGTH = 20_000;
const WATCHED_MS = 20_000;
const [clients, port] = [Number(process.argv[2] ?? 200), Number(process.argv[3] ?? 0)];

if (port === 0) await measure();
else await requestOnly();

async function measure(): Promise<void> {
  const Article = defineEntity({ name: 'Article', properties: { id: p.integer().primary(), content: p.text() } });
  class ArticleViewSet extends ModelViewSet(Article, {
    read: readShape(Article, ['id', 'content']),
    exports: ['ndjson'],
  }) {}
  const orm = await MikroORM.init({ dbName: ':memory:', entities: [Article] });
  await orm.schema.create();
  const content = 'x'.repeat(RECORD_LENGTH);
  for (let id = 1; id <= RECORDS; id += 500) {
    await orm.em.fork().insertMany(
      Article,
      Array.from({ length: 500 }, (_, index) => ({ id: id + index, content })),
    );
  }
  const app = fastify(serverOptions({ forceCloseConnections: true }));
  await app.register(viewset, { orm, maxRequestsInFlight: clients });
  await app.register(new Router().register('articles', ArticleViewSet).plugin);
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port: served } = app.server.address() as { port: number };
  const before = process.memoryUsage.rss();
  let highest = before;
  const watch = setInterval(() => (highest = Math.max(highest, process.memoryUsage.rss())), 20);
  const child = fork(import.meta.filename, [String(clients), String(served)]);
  await once(child, 'exit');
  clearInterval(watch);
  const [from, to] = [before, highest].map((bytes) => Math.round(bytes / MEBIBYTE));
  console.log(`${clients} clients that read nothing: the resident set went from ${from} MiB to ${to} MiB at most`);
  await app.close();
  await orm.close();
}

async function requestOnly(): Promise<void> {
  for (let begun = 0; begun < clients; begun++) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.pause();
    socket.write('GET /articles.ndjson HTTP/1.1\r\nHost: x\r\n\r\n');
  }
  const statuses: Record<number, number> = {};
  const end = Date.now() + WATCHED_MS;
  while (Date.now() < end) {
    const { status } = await fetch(`http://127.0.0.1:${port}/articles/1`);
    statuses[status] = (statuses[status] ?? 0) + 1;
    await sleep(20);
  }
  console.log(`others were answered with ${JSON.stringify(statuses)}`);
  process.exit();
}
