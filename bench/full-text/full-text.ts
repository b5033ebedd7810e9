/**
 * `node bench/full-text/full-text.ts --records 100000 --requests 7`: lists searched by an index, and the same lists searched by
 * `searchFields: ['title', 'body']`, in turn. It prints the ratios of the medians. SQLite is always measured; PostgreSQL and MongoDB if
 * TEST_POSTGRES_URL and TEST_MONGODB_URL are set. It creates a separate database on each.
 */
import { parseArgs } from 'node:util';
import { MikroORM } from '@mikro-orm/core';
import { fullText, updateFullText } from '@viewset/full-text';
import { ModelViewSet, readShape, Router, serverOptions, viewset } from '@viewset/core';
import { type FastifyInstance, fastify } from 'fastify';
import { median } from '../statistics.ts';
import { Article, articleDatabases, SEARCHES, writeArticles } from './articles.ts';

const { values } = parseArgs({
  options: { records: { type: 'string', default: '100000' }, requests: { type: 'string', default: '7' } },
});
const [records, requests] = [Number(values.records), Number(values.requests)];

const read = readShape(Article, ['id', 'title']);
const search = fullText<Article>(['title^2', 'body']);
class Indexed extends ModelViewSet(Article, { read, searchFields: search }) {}
class Scanned extends ModelViewSet(Article, { read, searchFields: ['title', 'body'] }) {}

for (const { title, options } of articleDatabases()) {
  const orm = await MikroORM.init(options);
  try {
    await orm.schema.ensureDatabase();
    await orm.schema.create();
    await writeArticles(orm, records);
    await updateFullText(orm, Article, search);
    console.log(`${title}, ${records} records`);
    await measure(orm);
  } finally {
    // MongoDB has no database without collections.
    await (title === 'PostgreSQL' ? orm.schema.dropDatabase() : orm.schema.drop());
    await orm.close(true);
  }
}

async function measure(orm: MikroORM): Promise<void> {
  const app = fastify(serverOptions());
  await app.register(viewset, { orm });
  await app.register(new Router().register('indexed', Indexed).register('scanned', Scanned).plugin);
  for (const words of SEARCHES) {
    // The first request of each fills the caches.
    const { found } = await ask(app, 'scanned', words);
    await ask(app, 'indexed', words);
    const indexed: number[] = [];
    const scanned: number[] = [];
    for (let round = 0; round < requests; round++) {
      indexed.push((await ask(app, 'indexed', words)).ms);
      scanned.push((await ask(app, 'scanned', words)).ms);
    }
    const [one, other] = [median(indexed), median(scanned)];
    const share = ((100 * found) / records).toFixed(2);
    console.log(`  ${words}, ${share} %: ${one.toFixed(1)} ms / ${other.toFixed(1)} ms = ${(one / other).toFixed(2)}`);
  }
  await app.close();
}

async function ask(app: FastifyInstance, path: string, words: string): Promise<{ ms: number; found: number }> {
  const startedAt = performance.now();
  const answer = await app.inject({ url: `/${path}`, query: { search: words } });
  const ms = performance.now() - startedAt;
  if (answer.statusCode !== 200) throw new Error(`${path}?search=${words}: ${answer.statusCode} ${answer.body}`);
  return { ms, found: answer.json<{ count: number }>().count };
}
