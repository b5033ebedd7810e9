/**
 * `node bench/refused/refused.ts`: the cost for readers of twenty clients that repeat a rejected write (409, a duplicate value). It prints
 * the reads per second and their 99th percentile, without and with the rejected writes, as medians of five rounds, and how many connections
 * PostgreSQL had to open. TEST_POSTGRES_URL names the server; `pnpm with-servers` starts one.
 */
import { defineEntity, p } from '@mikro-orm/core';
import { MikroORM } from '@mikro-orm/postgresql';
import { ModelViewSet, readShape, Router, viewset, writeShape } from '@viewset/core';
import autocannon from 'autocannon';
import { fastify } from 'fastify';
import { fork } from 'node:child_process';
import { once } from 'node:events';

const ROUNDS = 5;
const SECONDS = 3;
const POOL_SIZE = 10;
const address = process.argv[2];

if (address !== undefined) await serve(address);
else await measure();

async function measure(): Promise<void> {
  const server = process.env['TEST_POSTGRES_URL'];
  if (server === undefined) throw new Error('Set TEST_POSTGRES_URL, or run this by pnpm with-servers');
  const child = fork(import.meta.filename, [server], { stdio: 'inherit' });
  const [port] = (await once(child, 'message')) as [number];
  const url = `http://127.0.0.1:${port}/products`;
  const alone: autocannon.Result[] = [];
  const beside: autocannon.Result[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(await reads(url));
    const writes = refusedWrites(url);
    beside.push(await reads(url));
    await writes;
  }
  report('alone', alone);
  report('beside refused writes', beside);
  child.send('stop');
  await once(child, 'exit');
}

function report(name: string, results: readonly autocannon.Result[]): void {
  const perSecond = median(results.map(({ requests }) => requests.average));
  const slowest = median(results.map(({ latency }) => latency.p99));
  const failed = results.reduce((sum, { errors, non2xx }) => sum + errors + non2xx, 0);
  console.log(`reads ${name}: ${perSecond.toFixed(0)} a second, 99 % within ${slowest} ms, ${failed} failed`);
}

function reads(url: string): Promise<autocannon.Result> {
  return autocannon({ url: `${url}/1`, connections: 10, duration: SECONDS });
}

async function refusedWrites(url: string): Promise<void> {
  const body = JSON.stringify({ name: 'taken' });
  const headers = { 'content-type': 'application/json' };
  const { non2xx, requests } = await autocannon({
    url,
    method: 'POST',
    body,
    headers,
    connections: 20,
    duration: SECONDS,
  });
  if (non2xx < requests.total) throw new Error('A write was not refused');
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)]!;
}

async function serve(server: string): Promise<void> {
  const Product = defineEntity({
    name: 'Product',
    properties: { id: p.integer().primary(), name: p.string().unique() },
  });
  class ProductViewSet extends ModelViewSet(Product, {
    read: readShape(Product, ['id', 'name']),
    write: writeShape(Product, ['name']),
  }) {}
  const url = new URL(server);
  url.pathname = '/viewset_bench_refused';
  const orm = await MikroORM.init({ clientUrl: url.href, entities: [Product], pool: { max: POOL_SIZE } });
  await orm.schema.ensureDatabase();
  await orm.schema.refresh();
  await orm.em.fork().insert(Product, { name: 'taken' });
  let opened = 0;
  const pool = (await (
    orm.em.getConnection() as unknown as { getNativeClient(): Promise<unknown> }
  ).getNativeClient()) as {
    on(event: 'connect', listener: () => void): void;
  };
  pool.on('connect', () => (opened += 1));
  const app = fastify();
  await app.register(viewset, { orm });
  await app.register(new Router().register('products', ProductViewSet).plugin);
  await app.listen({ port: 0 });
  process.once('message', () => {
    console.log(`${opened} connections opened, of a pool of ${POOL_SIZE}`);
    void app.close().then(() => orm.close());
    process.disconnect();
  });
  process.send?.((app.server.address() as { port: number }).port);
}
