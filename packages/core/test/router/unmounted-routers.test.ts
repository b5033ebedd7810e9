/** A router whose plugin was never registered gives 404 for all its paths. It is a warning in development. */
import fastify from 'fastify';
import t, { type Test } from 'tap';
import { ModelViewSet, readShape, Router, serverOptions, viewset } from '../../src/index.ts';
import { openSqlite } from '../support/databases.ts';
import { Book, LIBRARY } from '../support/library.ts';

class Books extends ModelViewSet(Book, { read: readShape(Book, ['id', 'title']) }) {}

/** Starts an application with a router, and returns its warnings after it has checked the routers. */
async function warnings(t: Test, router: Router, later?: Router): Promise<string[]> {
  const before = process.env['NODE_ENV'];
  delete process.env['NODE_ENV'];
  const lines: { level: number; msg: string }[] = [];
  const checked = Promise.withResolvers<undefined>();
  const write = (line: string) => {
    lines.push(JSON.parse(line) as (typeof lines)[number]);
    if (lines.at(-1)?.msg === 'the routers were checked') checked.resolve(undefined);
  };
  const orm = await openSqlite(t, { entities: LIBRARY });
  const start = async (mounted: Router) => {
    const app = fastify(serverOptions({ logger: { level: 'debug', stream: { write } } }));
    t.teardown(() => app.close());
    await app.register(viewset, { orm, checkTables: false });
    await app.register(mounted.plugin);
    await app.listen({ port: 0, host: '127.0.0.1' });
  };
  await start(router);
  if (before !== undefined) process.env['NODE_ENV'] = before;
  if (later !== undefined) await start(later);
  // The timer of the check alone does not keep the process.
  const alive = setInterval(() => undefined, 1000);
  await checked.promise;
  clearInterval(alive);
  return lines.filter(({ level, msg }) => level >= 40 && msg.startsWith('Router')).map(({ msg }) => msg);
}

t.test('a router that is not mounted', async (t) => {
  // Routers of other files in this process.
  await warnings(t, new Router().register('books', Books));
  const forgotten = new Router({ prefix: 'api' }).register('books', Books).register('volumes', Books);
  t.strictSame(await warnings(t, new Router().register('books', Books)), [
    'Router: a router with "api/books" and 1 more was never mounted, so it gives 404: await app.register(router.plugin)',
  ]);
  t.ok(forgotten);
});

t.test('no warning for an empty router, and for one of an application that starts second', async (t) => {
  t.ok(new Router());
  const later = new Router().register('books', Books);
  t.strictSame(await warnings(t, new Router().register('books', Books), later), []);
});
