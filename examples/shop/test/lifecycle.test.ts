import { createConnection } from 'node:net';
import { once } from 'node:events';
import { missingServer, TEST_DATABASES } from '@viewset/testing';
import t from 'tap';
import { Account } from '../src/entities/account.ts';
import { Role } from '../src/entities/role.ts';
import { freshDatabase, pastShop } from './support/database.ts';
import { MailServer } from './support/mail-server.ts';
import { type Page, onlyProducts } from './support/records.ts';
import { ADMIN, type Shop, openShop, startShop } from './support/shop.ts';

for (const kind of TEST_DATABASES) {
  t.test(`on ${kind}`, { skip: missingServer(kind) }, async (t) => {
    const databaseUrl = await freshDatabase(t, kind);

    await t.test('a later start keeps existing data', async (t) => {
      const shop = await openShop(t, { kind, databaseUrl });
      const token = await shop.login();
      await onlyProducts(shop, token, [{ name: 'mine' }]);
      await shop.patch('/api/accounts/1', { name: 'Renamed' }, { token });
      await shop.process.stop();
      const later = await openShop(t, { kind, databaseUrl, variables: { ADMIN_PASSWORD: 'another-password' } });
      t.match((await later.get<Page<unknown>>('/api/products')).body, { count: 1, results: [{ name: 'mine' }] });
      t.match(
        (await later.get('/api/accounts/1', { token: await later.login() })).body,
        { name: 'Renamed' },
        'the password is as it was',
      );
    });

    await t.test('a later start without a place for the administrator warns and goes on', async (t) => {
      const databaseUrl = await freshDatabase(t, kind);
      const shop = await openShop(t, { kind, databaseUrl });
      const token = await shop.login();
      const boss = { ...ADMIN, email: 'boss@example.com' };
      t.equal((await shop.patch('/api/accounts/1', { email: boss.email }, { token })).status, 200);
      await shop.process.stop();
      // The shop itself would refuse it.
      await pastShop(databaseUrl, (em) => em.nativeUpdate(Role, { name: 'admin' }, { name: 'boss' }));
      const later = await openShop(t, { kind, databaseUrl });
      t.ok(later.process.log.some(({ level, msg }) => level === 40 && /no role has the name "admin"/.test(msg)));
      await later.login(boss);
    });

    await t.test('an account that has the address without the role is left as it is', async (t) => {
      const databaseUrl = await freshDatabase(t, kind);
      const shop = await openShop(t, { kind, databaseUrl });
      await shop.process.stop();
      await pastShop(databaseUrl, async (em) => {
        const role = await em.findOneOrFail(Role, { name: 'user' });
        await em.nativeUpdate(Account, { email: ADMIN.email }, { role });
      });
      const later = await openShop(t, { kind, databaseUrl });
      t.ok(later.process.log.some(({ level, msg }) => level === 40 && /ADMIN_EMAIL/.test(msg)));
      t.match((await later.get('/api/accounts/1', { token: await later.login() })).body, { role: 'user' });
    });
  });
}

/** Stops the shop while a request waits for the mail server, and lets the mail server go on only then. */
for (const [signal, kind] of [
  ['SIGTERM', 'postgresql'],
  ['SIGINT', 'sqlite'],
] as const) {
  t.test(`${signal} on ${kind}: a request in flight is finished`, { skip: missingServer(kind) }, async (t) => {
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
    t.match(await probe.end('\r\n'), /^HTTP\/1.1 503 [^]*"status":"unavailable"/, 'not ready any more');
    accept();
    t.equal((await pending).status, 200, 'the request is answered');
    t.same(await stopped, { code: 0, signal: null }, 'exit code 0');
    t.same(
      shop.process.log.filter(({ level }) => level >= 50),
      [],
      'no error in the log',
    );
  });
}

/** Sends a part of a request, on a connection that is therefore not idle; `end` sends the rest and returns the response. */
async function beginRequest(shop: Shop, part: string): Promise<{ end(rest: string): Promise<string> }> {
  const { hostname, port } = new URL(shop.url);
  const socket = createConnection({ host: hostname, port: Number(port) });
  await once(socket, 'connect');
  socket.write(part);
  // Connections are read in turn: when this one has its response, the part above has been read.
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
