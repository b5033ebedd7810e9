import { MikroORM } from '@mikro-orm/postgresql';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { ModelViewSet, readShape, Router } from '../../src/index.ts';
import { createPostgreSqlDatabase, postgresUrl } from '../support/databases.ts';
import { Book, LIBRARY, testApp } from '../support/library.ts';

const skip = postgresUrl() === undefined && process.env['CI'] !== 'true' && 'TEST_POSTGRES_URL is not set';

class BookViewSet extends ModelViewSet(Book, { read: readShape(Book, ['id', 'title']) }) {}

t.test('an application starts where its database takes connections and says nothing', async (t) => {
  const { port, sockets } = await listen(t, () => {});
  const orm = await openOrm(t, `postgres://nobody@127.0.0.1:${port}/none`);
  const app = await testApp(t, orm, []);
  t.equal((await app.inject('/health/live')).statusCode, 200);
  for (const socket of sockets) socket.destroy();
});

t.test('a database that was down at the start is as good as one that was not', { skip }, async (t) => {
  const database = new URL(await createPostgreSqlDatabase(t));
  const { port, server } = await listen(t, (socket) => {
    const upstream = connect(Number(database.port), database.hostname);
    socket.pipe(upstream).pipe(socket);
    socket.on('error', () => upstream.destroy());
    upstream.on('error', () => socket.destroy());
  });
  await new Promise((resolve) => server.close(resolve));
  const proxied = new URL(database);
  proxied.host = `127.0.0.1:${port}`;
  const orm = await openOrm(t, proxied.href);
  const router = new Router();
  router.register('books', BookViewSet);
  const app = await testApp(t, orm, [router]);
  t.equal((await app.inject('/books')).statusCode, 503);

  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  await orm.schema.create();
  t.equal((await app.inject('/books')).statusCode, 200);
  // A transaction that loses its connection keeps no place in a pool of one.
  const em = orm.em.fork();
  await em.begin();
  const execute = async (sql: string) =>
    em.getConnection().execute<{ pid: number }[]>(sql, [], 'all', em.getTransactionContext());
  const cut = execute('select pg_terminate_backend(pg_backend_pid())');
  await t.rejects(cut);
  await sleep(50);
  t.equal((await app.inject('/books')).statusCode, 200);
});

async function openOrm(t: Test, clientUrl: string): Promise<MikroORM> {
  const driverOptions = { connectionTimeoutMillis: 15_000 };
  const orm = await MikroORM.init({ clientUrl, entities: LIBRARY, pool: { max: 1 }, driverOptions });
  t.teardown(() => orm.close(true));
  return orm;
}

interface Listening {
  readonly server: Server;
  readonly port: number;
  readonly sockets: ReadonlySet<Socket>;
}

async function listen(t: Test, onConnection: (socket: Socket) => void): Promise<Listening> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { server, port: (server.address() as AddressInfo).port, sockets };
}
