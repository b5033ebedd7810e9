/**
 * `node bench/memory/export.ts [records]`: the memory of a server that sends a complete table as CSV and as NDJSON, as the growth of its
 * resident set from before an export to its highest value during it. The client is another process.
 */
import { defineEntity, p } from '@mikro-orm/core';
import { MikroORM } from '@mikro-orm/sqlite';
import { ModelViewSet, readShape, Router, viewset } from '@viewset/core';
import { fastify } from 'fastify';
import { fork } from 'node:child_process';
import { once } from 'node:events';

const MEGABYTE = 1024 * 1024;
const [records, port, type] = [Number(process.argv[2] ?? 1_000_000), process.argv[3], process.argv[4] ?? ''];

if (port === undefined) await measure();
else await read(`http://127.0.0.1:${port}/products`, type);

async function measure(): Promise<void> {
  const Product = defineEntity({
    name: 'Product',
    properties: { id: p.integer().primary(), name: p.string(), stock: p.integer() },
  });
  class ProductViewSet extends ModelViewSet(Product, {
    read: readShape(Product, ['id', 'name', 'stock']),
    exports: ['csv', 'ndjson'],
  }) {}
  const orm = await MikroORM.init({ dbName: ':memory:', entities: [Product] });
  await orm.schema.create();
  const numbers = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)';
  await orm.em
    .getConnection()
    .execute(`insert into product (id, name, stock) ${numbers} select i, 'Product ' || i, i % 100 from n`, [records]);
  const app = fastify();
  await app.register(viewset, { orm });
  await app.register(new Router().register('products', ProductViewSet).plugin);
  await app.listen({ port: 0 });
  const { port: served } = app.server.address() as { port: number };
  for (const format of ['text/csv', 'text/csv', 'application/x-ndjson']) {
    const before = process.memoryUsage.rss();
    let highest = before;
    const watch = setInterval(() => (highest = Math.max(highest, process.memoryUsage.rss())), 5);
    const startedAt = performance.now();
    const child = fork(import.meta.filename, [String(records), String(served), format]);
    const [code] = (await once(child, 'exit')) as [number];
    clearInterval(watch);
    if (code !== 0) throw new Error('The export failed');
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const growth = ((highest - before) / MEGABYTE).toFixed(1);
    console.log(`${records} records as ${format} in ${seconds} s: the resident set grew by ${growth} MB`);
  }
  await app.close();
  await orm.close();
}

async function read(url: string, accept: string): Promise<void> {
  const answer = await fetch(url, { headers: { accept } });
  let lines = accept === 'text/csv' ? -1 : 0;
  for await (const chunk of answer.body!) for (const byte of chunk) if (byte === 10) lines += 1;
  if (lines !== records) throw new Error(`received ${lines} records`);
}
