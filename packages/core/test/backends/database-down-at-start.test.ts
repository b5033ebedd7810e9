import { MikroORM } from '@mikro-orm/postgresql';
import type { FastifyInstance } from 'fastify';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { ModelViewSet, readShape, Router } from '../../src/index.ts';
import { administrate, createPostgreSqlDatabase, postgresUrl, skipPostgreSql } from '../support/databases.ts';
import { Book, LIBRARY, testApp } from '../support/library.ts';

const skip = skipPostgreSql();

class BookViewSet extends ModelViewSet(Book, { read: readShape(Book, ['id', 'title']) }) {}

t.test('an application starts if its database accepts connections but does not respond', async (t) => {
  const database = await listen(t, () => {});
  const orm = await openOrm(t, `postgres://nobody@127.0.0.1:${database.port}/none`);
  const app = await testApp(t, orm, []);
  t.equal((await app.inject('/health/live')).statusCode, 200);
  database.hangUp();
});

t.test('a database that was silent at the start is as good as one that was not', { skip }, async (t) => {
  const url = new URL(await createPostgreSqlDatabase(t));
  let isSilent = true;
  const proxy = await listen(t, (socket) => {
    if (!isSilent) forward(socket, url);
  });
  const { app, orm } = await shelves(t, behind(url, proxy.port));
  isSilent = false;
  proxy.hangUp();
  await losesNoPlace(t, app, orm);
});

t.test('a database that was down at the start is as good as one that was not', { skip }, async (t) => {
  const url = new URL(await createPostgreSqlDatabase(t));
  const proxy = await listen(t, (socket) => forward(socket, url));
  await proxy.close();
  const { app, orm } = await shelves(t, behind(url, proxy.port));
  t.equal((await app.inject('/books')).statusCode, 503);
  await proxy.open();
  await losesNoPlace(t, app, orm);
});

t.test('a database that was missing at the start is made by MikroORM', { skip }, async (t) => {
  const url = await createPostgreSqlDatabase(t);
  await administrate(postgresUrl()!, `drop database "${new URL(url).pathname.slice(1)}"`);
  const { app, orm } = await shelves(t, url);
  await losesNoPlace(t, app, orm);
});

async function shelves(t: Test, clientUrl: string): Promise<{ app: FastifyInstance; orm: MikroORM }> {
  const orm = await openOrm(t, clientUrl);
  const router = new Router();
  router.register('books', BookViewSet);
  return { app: await testApp(t, orm, [router]), orm };
}

/** A transaction that loses its connection keeps no place, in a pool of one. */
async function losesNoPlace(t: Test, app: FastifyInstance, orm: MikroORM): Promise<void> {
  await orm.schema.create();
  t.equal((await app.inject('/books')).statusCode, 200);
  const em = orm.em.fork();
  await em.begin();
  const sql = 'select pg_terminate_backend(pg_backend_pid())';
  await t.rejects(em.getConnection().execute(sql, [], 'all', em.getTransactionContext()));
  t.equal((await app.inject('/books')).statusCode, 200);
}

async function openOrm(t: Test, clientUrl: string): Promise<MikroORM> {
  const driverOptions = { connectionTimeoutMillis: 15_000 };
  const orm = await MikroORM.init({ clientUrl, entities: LIBRARY, pool: { max: 1 }, driverOptions });
  t.teardown(() => orm.close(true));
  return orm;
}

/** The same database, by way of a port. */
function behind(database: URL, port: number): string {
  const proxied = new URL(database);
  proxied.host = `127.0.0.1:${port}`;
  return proxied.href;
}

function forward(socket: Socket, { hostname, port }: URL): void {
  const upstream = connect(Number(port || 5432), hostname);
  socket.pipe(upstream).pipe(socket);
  socket.on('error', () => upstream.destroy());
  upstream.on('error', () => socket.destroy());
}

interface Listening {
  readonly port: number;
  /** Cuts every connection there is. */
  hangUp(): void;
  close(): Promise<void>;
  /** Listens again, on the same port. */
  open(): Promise<void>;
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
  const { port } = server.address() as AddressInfo;
  const hangUp = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  t.teardown(() => {
    hangUp();
    server.close();
  });
  return {
    port,
    hangUp,
    close: async () => {
      server.close();
      await once(server, 'close');
    },
    open: async () => {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
  };
}
