/** A server that responds but cannot serve: read-only, out of disk or connections, starting, stopping. */
import type { MikroORM } from '@mikro-orm/core';
import { MikroORM as PostgreSqlORM } from '@mikro-orm/postgresql';
import { MikroORM as SqliteORM } from '@mikro-orm/sqlite';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import {
  HealthRegistry,
  ModelViewSet,
  PostgresHealthCheck,
  readShape,
  Router,
  SqliteHealthCheck,
  writeShape,
} from '../../src/index.ts';
import { administrate, forEachDatabase } from '../support/databases.ts';
import { Book, fillLibrary, LIBRARY, testApp } from '../support/library.ts';
import { withReplica } from '../support/replicated-postgres.ts';

const POOL_SIZE = 4;

const shapes = { read: readShape(Book, ['id', 'title']), write: writeShape(Book, ['title']) };
class BookViewSet extends ModelViewSet(Book, shapes) {}
/** Writes through the unit of work. */
class HookedViewSet extends ModelViewSet(Book, shapes) {
  override performCreate(request: FastifyRequest, data: Parameters<BookViewSet['performCreate']>[1]) {
    return super.performCreate(request, data);
  }
}

const router = (): Router => new Router().register('books', BookViewSet).register('hooked', HookedViewSet);

/** Writes in one statement, and through the unit of work. */
const VIEWS = ['/books', '/hooked'];

async function create(app: FastifyInstance, url: string, title = 'Ash') {
  return app.inject({ method: 'POST', url, payload: { title } });
}

async function isReady(app: FastifyInstance): Promise<number> {
  return (await app.inject('/health/ready')).statusCode;
}

async function openApp(t: Test, orm: MikroORM, check?: PostgresHealthCheck | SqliteHealthCheck) {
  const health = new HealthRegistry({ cacheMs: 0 });
  if (check !== undefined) health.register(check);
  return testApp(t, orm, [router()], { options: { health } });
}

const options = { entities: LIBRARY, orm: { pool: { max: POOL_SIZE } }, only: ['postgresql'] } as const;

forEachDatabase(t, options, async (t, orm) => {
  await fillLibrary(orm);
  const app = await openApp(t, orm, new PostgresHealthCheck(orm));
  const clientUrl = orm.config.get('clientUrl')!;
  const name = new URL(clientUrl).pathname.slice(1);
  const root = new URL(clientUrl);
  root.pathname = '/postgres';
  const administer = (sql: string): Promise<void> => administrate(root.href, sql);
  const cut = (): Promise<void> =>
    administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);

  await t.test('a server that is read-only for a while: 503, then its connections are replaced', async (t) => {
    for (const url of VIEWS) {
      await administer(`alter database "${name}" set default_transaction_read_only = on`);
      await cut();
      // Connections that were cut fail once.
      while ((await app.inject('/books')).statusCode !== 200);
      await Promise.all(Array.from({ length: POOL_SIZE }, () => app.inject('/books')));
      const refused = await create(app, url);
      t.match({ status: refused.statusCode, ...refused.json() }, { status: 503, code: 'service_unavailable' }, url);
      t.equal(await isReady(app), 503);
      await administer(`alter database "${name}" reset default_transaction_read_only`);
      await Promise.all(Array.from({ length: POOL_SIZE }, () => create(app, url)));
      const later = await Promise.all(Array.from({ length: POOL_SIZE }, () => create(app, url)));
      t.strictSame(
        later.map(({ statusCode }) => statusCode),
        later.map(() => 201),
        `${url}: every connection that is left takes writes`,
      );
      t.equal(await isReady(app), 200);
    }
  });

  await t.test('an application that only reads is ready on a read-only server', async (t) => {
    await administer(`alter database "${name}" set default_transaction_read_only = on`);
    await cut();
    const reader = await PostgreSqlORM.init({ clientUrl, entities: LIBRARY });
    t.teardown(() => reader.close(true));
    t.equal(await isReady(await openApp(t, reader, new PostgresHealthCheck(reader))), 503);
    t.equal(await isReady(await openApp(t, reader, new PostgresHealthCheck(reader, { needsWrites: false }))), 200);
    await administer(`alter database "${name}" reset default_transaction_read_only`);
    await cut();
  });

  await t.test('every SQLSTATE has its status, and decides whether its connection is reused', async (t) => {
    await orm.em.getConnection().execute(`
      create function refuse() returns trigger language plpgsql as $$
      begin
        if new.title ~ '^[0-9A-Z]{5}$' then raise exception 'refused' using errcode = new.title; end if;
        return new;
      end $$;
      create trigger refuse before insert on book for each row execute function refuse();
    `);
    const single = await PostgreSqlORM.init({ clientUrl, entities: LIBRARY, pool: { max: 1 } });
    t.teardown(() => single.close(true));
    const app = await openApp(t, single);
    const backend = async (): Promise<unknown> => single.em.getConnection().execute('select pg_backend_pid() as pid');
    for (const [code, status, isKept] of SQLSTATES) {
      for (const url of VIEWS) {
        const before = await backend();
        const { statusCode } = await create(app, url, code);
        t.equal(statusCode, status, `${code} ${url}`);
        const after = await backend();
        t.equal(JSON.stringify(after) === JSON.stringify(before), isKept, `${code} ${url}: connection`);
      }
    }
    await orm.em.getConnection().execute('drop trigger refuse on book');
  });

  await t.test('a role without a free connection: 503, and well again', async (t) => {
    const role = `${name}_role`;
    await administer(`create role "${role}" login superuser connection limit 1`);
    t.teardown(() => administer(`drop role "${role}"`));
    // A limit does not apply to superusers.
    await orm.em.getConnection().execute(`alter role "${role}" nosuperuser`);
    await orm.em.getConnection().execute(`grant all on all tables in schema public to "${role}"`);
    await orm.em.getConnection().execute(`grant all on all sequences in schema public to "${role}"`);
    const url = new URL(clientUrl);
    url.username = role;
    const [one, two] = await Promise.all(
      [1, 2].map(() => PostgreSqlORM.init({ clientUrl: url.href, entities: LIBRARY })),
    );
    await one!.em.getConnection().execute('select 1');
    const app = await openApp(t, two!);
    for (const url of VIEWS) t.equal((await create(app, url)).statusCode, 503, url);
    t.equal((await app.inject('/books')).statusCode, 503);
    await one!.close(true);
    for (const url of VIEWS) {
      let created = await create(app, url);
      // The server frees the place shortly after the connection was closed.
      while (created.statusCode === 503) created = await create(app, url);
      t.equal(created.statusCode, 201, url);
    }
    await two!.close(true);
    await orm.em.getConnection().execute(`drop owned by "${role}"`);
  });
});

/** The SQLSTATE that a statement fails with, the status of the response, and whether the connection is used again. */
const SQLSTATES: readonly (readonly [string, number, boolean])[] = [
  // Connections that fail, the protocol, and the errors of PgBouncer.
  ['08000', 503, false],
  ['08006', 503, false],
  ['08P01', 503, false],
  // The server, or this session, takes no writes.
  ['25006', 503, false],
  // The transaction or the session took too long.
  ['25P03', 503, false],
  ['25P04', 503, false],
  // Too few resources: disk, memory, connections; but not a limit that only this statement exceeds.
  ['53000', 503, false],
  ['53100', 503, false],
  ['53200', 503, false],
  ['53300', 503, false],
  ['53400', 503, true],
  // The operator ends, restarts or replaces the server.
  ['57P01', 503, false],
  ['57P02', 503, false],
  ['57P03', 503, false],
  ['57P04', 503, false],
  ['57P05', 503, false],
  // A statement that was cancelled.
  ['57014', 503, true],
  // Errors of the system below PostgreSQL.
  ['58000', 503, false],
  ['58030', 503, false],
  ['58P01', 503, false],
  // A lock that was not free in time.
  ['55P03', 503, true],
  // Faults of the program or of the server's data: an operator has to look.
  ['42501', 500, true],
  ['42703', 500, true],
  ['XX000', 500, false],
  ['XX001', 500, false],
  ['F0000', 500, false],
];

/** Forwards connections to a server that can be changed, as a name does whose address changes. */
async function switchboard(
  t: Test,
  first: string,
): Promise<{ url: string; target: string; isSilent: boolean; cut: () => void }> {
  const sockets = new Set<Socket>();
  const board = {
    url: '',
    target: first,
    silent: false,
    cut: (): void => {},
    get isSilent() {
      return this.silent;
    },
    /** Forwards nothing more, and keeps all connections. */
    set isSilent(silent) {
      this.silent = silent;
      for (const socket of sockets) socket[silent ? 'pause' : 'resume']();
    },
  };
  const server = createServer((socket) => {
    if (board.silent) return void sockets.add(socket.on('error', () => {}));
    const { hostname, port } = new URL(board.target);
    const upstream = connect(Number(port), hostname);
    for (const each of [socket, upstream]) {
      sockets.add(each);
      each.on('error', () => {}).on('close', () => void [socket, upstream].map((end) => end.destroy()));
    }
    socket.pipe(upstream).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  board.cut = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  const url = new URL(first);
  url.port = String((server.address() as AddressInfo).port);
  board.url = url.href;
  return board;
}

withReplica(t, 'a name that led to a standby for a while', async (t, servers) => {
  const primary = await servers.open({ entities: LIBRARY });
  await servers.freeze();
  const board = await switchboard(t, servers.replicaUrl);
  const orm = await PostgreSqlORM.init({ clientUrl: board.url, entities: LIBRARY, pool: { max: POOL_SIZE } });
  t.teardown(() => orm.close(true));
  const app = await openApp(t, orm, new PostgresHealthCheck(orm));
  await Promise.all(Array.from({ length: POOL_SIZE }, () => app.inject('/books')));
  for (const url of VIEWS) t.equal((await create(app, url)).statusCode, 503, url);
  t.equal(await isReady(app), 503, 'a standby is not ready');
  board.target = primary.config.get('clientUrl')!;
  await Promise.all(Array.from({ length: POOL_SIZE }, () => create(app, '/books')));
  for (const url of VIEWS) t.equal((await create(app, url)).statusCode, 201, url);
  t.equal(await isReady(app), 200);
});

for (const how of ['down', 'silent'] as const) {
  withReplica(t, `a read replica that is ${how}`, async (t, servers) => {
    const primary = await servers.open({ entities: LIBRARY });
    await fillLibrary(primary);
    await servers.freeze();
    const board = await switchboard(t, servers.replicaUrl);
    const orm = await PostgreSqlORM.init({
      clientUrl: primary.config.get('clientUrl'),
      replicas: [{ clientUrl: board.url }],
      entities: LIBRARY,
      driverOptions: { connectionTimeoutMillis: 2000 },
    });
    t.teardown(() => orm.close(true));
    const app = await openApp(t, orm, new PostgresHealthCheck(orm, { timeoutMs: 1000 }));
    t.equal((await app.inject('/books')).statusCode, 200);
    const healthy = (await app.inject('/health/')).json();
    t.match(healthy.checks, { postgresql: { status: 'ok' }, 'postgresql-replica-1': { status: 'ok' } });
    const refuse = board.target;
    if (how === 'silent') board.isSilent = true;
    else board.target = 'http://127.0.0.1:1';
    if (how === 'down') board.cut();
    const lists = await Promise.all(Array.from({ length: 5 }, () => app.inject('/books')));
    t.strictSame([...new Set(lists.map(({ statusCode }) => statusCode))], [200], 'reads go to the primary');
    t.equal((await app.inject('/books')).statusCode, 200);
    t.equal((await create(app, '/books', 'New')).statusCode, 201);
    const report = (await app.inject('/health/')).json();
    t.match(report, {
      status: 'unavailable',
      checks: { postgresql: { status: 'ok' }, 'postgresql-replica-1': { status: 'unavailable' } },
    });
    t.equal(await isReady(app), 200, 'requests survive without it');
    board.target = refuse;
    board.isSilent = false;
    board.cut();
    // The replica lags, and does not have the new book.
    for (;;) {
      const { count } = (await app.inject('/books')).json();
      if (count === 5) break;
      await sleep(200);
    }
    t.pass('the replica is used again');
  });
}

withReplica(t, 'a read replica that is down when the ORM is closed is not tested any more', async (t, servers) => {
  const primary = await servers.open({ entities: LIBRARY });
  const replicas = [{ clientUrl: 'postgresql://127.0.0.1:1/none' }];
  const orm = await PostgreSqlORM.init({ clientUrl: primary.config.get('clientUrl'), replicas, entities: LIBRARY });
  t.teardown(() => orm.close(true));
  const replica = orm.em.getConnection('read');
  const app = await openApp(t, orm, new PostgresHealthCheck(orm));
  t.equal((await app.inject('/books')).statusCode, 200, 'the primary is read');
  await app.close();
  await orm.close(true);
  let tests = 0;
  replica.execute = async () => {
    tests++;
    throw new Error('It is down');
  };
  // A test of a replica follows five seconds after the one before.
  await sleep(6000);
  t.equal(tests, 0);
});

t.test('SQLite: read-only and full are 503, and pass', async (t) => {
  const orm = await SqliteORM.init({ dbName: join(t.testdir(), 'library.sqlite'), entities: LIBRARY });
  t.teardown(() => orm.close(true));
  await orm.schema.create();
  await fillLibrary(orm);
  const app = await openApp(t, orm, new SqliteHealthCheck(orm));
  const execute = (sql: string): Promise<unknown> => orm.em.getConnection().execute(sql);
  for (const url of VIEWS) {
    await execute('pragma query_only = on');
    const refused = await create(app, url);
    t.match({ status: refused.statusCode, ...refused.json() }, { status: 503, code: 'service_unavailable' }, url);
    t.equal((await app.inject('/books')).statusCode, 200);
    t.equal(await isReady(app), 503);
    await execute('pragma query_only = off');
    t.equal((await create(app, url)).statusCode, 201, url);
    t.equal(await isReady(app), 200);
    await execute('pragma max_page_count = 1');
    let full = await create(app, url, 'x'.repeat(20));
    for (let n = 0; n < 2000 && full.statusCode === 201; n++) full = await create(app, url, 'x'.repeat(20));
    t.equal(full.statusCode, 503, `${url} full: ${full.body}`);
    await execute('pragma max_page_count = 1000000');
    t.equal((await create(app, url)).statusCode, 201, url);
  }
});
