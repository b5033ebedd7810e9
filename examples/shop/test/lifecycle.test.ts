import { type AddressInfo, createConnection, createServer } from 'node:net';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { DATABASES, type DatabaseKind, freshDatabase, isMissing, queryDatabase } from './support/database.ts';
import { isError } from './support/expect.ts';
import { MailServer } from './support/mail-server.ts';
import { type Page, onlyProducts } from './support/records.ts';
import { ShopProcess, type Variables } from './support/shop-process.ts';
import { ADMIN, type Shop, startShop } from './support/shop.ts';

for (const kind of DATABASES) {
  const inSql = { skip: kind === 'mongodb' && 'it is prepared in SQL' };
  t.test(`on ${kind}`, { skip: isMissing(kind) }, async (t) => {
    const databaseUrl = await freshDatabase(t, kind);

    await t.test('shops that start at once share one first start', async (t) => {
      const shops = await Promise.all([1, 2, 3].map(() => startShop(t, { kind, databaseUrl })));
      for (const shop of shops) {
        const token = await shop.login();
        t.equal((await shop.get<Page<unknown>>('/api/products')).body.count, 50);
        t.match((await shop.get<Page<unknown>>('/api/roles?sort=name', { token })).body.results, [
          { name: 'admin' },
          { name: 'user' },
        ]);
        t.match((await shop.get<Page<unknown>>('/api/accounts', { token })).body, {
          count: 1,
          results: [{ email: ADMIN.email, role: 'admin', is_active: true }],
        });
      }
      await Promise.all(shops.map((shop) => shop.process.stop()));
    });

    await t.test('a later start keeps what is there', async (t) => {
      const shop = await startShop(t, { kind, databaseUrl });
      const token = await shop.login();
      await onlyProducts(shop, token, [{ name: 'mine' }]);
      await shop.patch('/api/accounts/1', { name: 'Renamed' }, { token });
      t.same(await shop.process.stop(), { code: 0, signal: null });
      const later = await startShop(t, { kind, databaseUrl, variables: { ADMIN_PASSWORD: 'another-password' } });
      t.match((await later.get<Page<unknown>>('/api/products')).body, { count: 1, results: [{ name: 'mine' }] });
      t.match(
        (await later.get('/api/accounts/1', { token: await later.login() })).body,
        { name: 'Renamed' },
        'the password is as it was',
      );
    });

    await t.test('a later start without a place for the administrator warns and goes on', inSql, async (t) => {
      const databaseUrl = await freshDatabase(t, kind);
      const shop = await startShop(t, { kind, databaseUrl });
      const token = await shop.login();
      const boss = { ...ADMIN, email: 'boss@example.com' };
      t.equal((await shop.patch('/api/accounts/1', { email: boss.email }, { token })).status, 200);
      t.same(await shop.process.stop(), { code: 0, signal: null });
      // The shop itself would refuse it.
      await queryDatabase(shop, "update role set name = 'boss' where id = 1");
      const later = await startShop(t, { kind, databaseUrl });
      t.ok(later.process.log.some(({ level, msg }) => level === 40 && /no role has the name "admin"/.test(msg)));
      await later.login(boss);
    });

    await t.test('an account that has the address without the role is left as it is', inSql, async (t) => {
      const databaseUrl = await freshDatabase(t, kind);
      const shop = await startShop(t, { kind, databaseUrl });
      await shop.process.stop();
      await queryDatabase(shop, 'update account set role_id = 2 where id = 1');
      const later = await startShop(t, { kind, databaseUrl });
      t.ok(later.process.log.some(({ level, msg }) => level === 40 && /ADMIN_EMAIL/.test(msg)));
      t.match((await later.get('/api/accounts/1', { token: await later.login() })).body, { role: 'user' });
    });

    await t.test('a request in flight is finished', (t) => inFlight(t, kind));
  });
}

/** Stops the shop while a request waits for the mail server, and lets the mail server go on only then. */
async function inFlight(t: Test, kind: DatabaseKind): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const server = new MailServer();
    let accept = (): void => {};
    const arrived = new Promise<void>((resolve) => {
      server.beforeAccept = () => {
        resolve();
        return new Promise<void>((done) => (accept = done));
      };
    });
    const shop = await startShop(t, { kind, variables: { SMTP_URL: await server.start(t) } });
    const pending = shop.post('/api/auth/send-verification-email', { email: 'ann@example.com' });
    await arrived;
    const probe = await beginRequest(shop, 'GET /health/ready HTTP/1.1\r\nHost: x\r\n');
    const stopped = shop.process.stop(signal);
    await refuses(shop);
    t.match(await probe.end('\r\n'), /^HTTP\/1.1 503 [^]*"status":"unavailable"/, `${signal}: not ready any more`);
    accept();
    t.equal((await pending).status, 200, `${signal}: the request is answered`);
    t.same(await stopped, { code: 0, signal: null }, `${signal}: exit code 0`);
    t.same(
      shop.process.log.filter(({ level }) => level >= 50),
      [],
      `${signal}: no error in the log`,
    );
  }
}

/** Sends a part of a request, on a connection that is therefore not idle; `end` sends the rest and reads the answer. */
async function beginRequest(shop: Shop, part: string): Promise<{ end(rest: string): Promise<string> }> {
  const { hostname, port } = new URL(shop.url);
  const socket = createConnection({ host: hostname, port: Number(port) });
  await once(socket, 'connect');
  socket.write(part);
  // Connections are read in turn: when this one is answered, the part above has been seen.
  await shop.get('/health/live');
  return {
    async end(rest) {
      socket.write(rest);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      socket.destroy();
      return answer.toString();
    },
  };
}

/** Resolves when the shop takes no more connections. */
async function refuses(shop: Shop): Promise<void> {
  const { hostname, port } = new URL(shop.url);
  for (;;) {
    const socket = createConnection({ host: hostname, port: Number(port) });
    socket.on('error', () => {});
    try {
      await once(socket, 'connect');
      await new Promise((done) => setTimeout(done, 5));
    } catch {
      return;
    } finally {
      socket.destroy();
    }
  }
}

t.test('the start', async (t) => {
  await t.test('it says where it listens, and three curl lines to try', async (t) => {
    const shop = await startShop(t, { variables: { DATABASE_URL: 'sqlite::memory:' } });
    const line = shop.process.log.find(({ msg }) => msg === 'listening');
    t.match(line, { address: '127.0.0.1', port: Number(new URL(shop.url).port) });
    await shop.get('/api/products');
    const curls = shop.process.output.filter((text) => /^\s*curl /.test(text));
    t.equal(curls.length, 3);
    t.ok(
      curls.every((text) => text.includes(shop.url)),
      'with the address',
    );
    t.ok(
      curls.some((text) => text.includes('/api/auth/login') && text.includes(ADMIN.email)),
      'a login as the administrator among them',
    );
    t.same(await shop.process.stop('SIGINT'), { code: 0, signal: null });
  });

  await t.test('production', async (t) => {
    const production = { NODE_ENV: 'production' };
    await refusesToStart(t, { ...production, SECRET_KEY: '' }, 'SECRET_KEY');
    const shop = await startShop(t, { variables: production });
    isError(t, await shop.post('/api/auth/login', ADMIN), 'unauthorized', 'no administrator is seeded');
    t.ok(
      shop.process.log.some(({ msg }) => /ADMIN_PASSWORD/.test(msg)),
      'and the log says so',
    );
    await shop.process.stop();
    const variables = { ...production, ADMIN_PASSWORD: 'a-better-password', ADMIN_EMAIL: ' Boss@Example.com ' };
    const later = await startShop(t, { variables, databaseUrl: shop.databaseUrl });
    await later.login({ email: 'boss@example.com', password: 'a-better-password' });
    t.notMatch(later.process.output.join('\n'), 'a-better-password');
  });

  await t.test('without a secret, outside production: a random one, and a warning', async (t) => {
    const shop = await startShop(t, { variables: { SECRET_KEY: '', JWT_SECRET: '' } });
    t.ok(shop.process.log.some(({ level, msg }) => level === 40 && /SECRET_KEY/.test(msg)));
    const token = await shop.login();
    const other = await startShop(t, { variables: { SECRET_KEY: '', JWT_SECRET: '' }, databaseUrl: shop.databaseUrl });
    isError(t, await other.get('/api/roles', { token }), 'unauthorized', 'each start has its own');
  });

  await t.test('a wrong setting stops the start with a sentence that names it', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'shop-'));
    t.teardown(() => rmSync(folder, { recursive: true }));
    const other = createServer().listen(0, '127.0.0.1');
    t.teardown(() => other.close());
    await once(other, 'listening');
    const taken = String((other.address() as AddressInfo).port);
    await Promise.all([
      refusesToStart(t, { PORT: taken }, `Port ${taken} is taken: set PORT`),
      refusesToStart(t, { SECRET_KEY: 'short' }, 'SECRET_KEY'),
      refusesToStart(t, { DATABASE_URL: `sqlite:${join(folder, 'no', 'such', 'folder.sqlite')}` }, 'DATABASE_URL'),
      refusesToStart(t, { NON_AUTH_ENDPOINTS: 'no path' }, 'NON_AUTH_ENDPOINTS'),
    ]);
    t.notOk(existsSync(join(folder, 'no')));
  });
});

async function refusesToStart(t: Test, variables: Variables, name: string): Promise<void> {
  const shop = new ShopProcess(t, { DATABASE_URL: 'sqlite::memory:', ...variables });
  const { code } = await shop.exited;
  t.equal(code, 1, `${name}: exit code 1`);
  t.match(shop.output.join('\n'), name);
  t.notMatch(shop.output.join('\n'), /\bat .+:\d+:\d+/, `${name}: no stack`);
}
