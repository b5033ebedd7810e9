import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { isError } from './support/expect.ts';
import type { Variables } from './support/running-shop.ts';
import { ShopInside } from './support/shop-inside.ts';
import { ShopProcess } from './support/shop-process.ts';
import { ADMIN, openShop, startShop } from './support/shop.ts';

t.test('the log names the address, and three curl lines to try', async (t) => {
  const shop = await startShop(t, { variables: { DATABASE_URL: 'sqlite::memory:' } });
  const line = shop.process.log.find(({ msg }) => msg === 'listening');
  t.match(line, { address: '127.0.0.1', port: Number(new URL(shop.url).port) });
  await shop.get('/api/products');
  const curls = shop.process.output.filter((text) => /^\s*(?:TOKEN=\$\()?curl /.test(text));
  const address = shop.url.replace('127.0.0.1', 'localhost');
  t.equal(curls.length, 3);
  t.ok(
    curls.every((text) => text.includes(address)),
    'with the address',
  );
  t.ok(
    curls.some((text) => text.includes('/api/auth/login') && text.includes(ADMIN.email)),
    'a login as the administrator among them',
  );
  t.same(await shop.process.stop('SIGINT'), { code: 0, signal: null });
});

t.test('production', async (t) => {
  const production = { NODE_ENV: 'production' };
  const shop = await openShop(t, { variables: production });
  isError(t, await shop.post('/api/auth/login', ADMIN), 'unauthorized', 'no administrator is seeded');
  t.ok(
    shop.process.log.some(({ msg }) => /ADMIN_PASSWORD/.test(msg)),
    'and the log says so',
  );
  await shop.process.stop();
  const variables = { ...production, ADMIN_PASSWORD: 'a-better-password', ADMIN_EMAIL: ' Boss@Example.com ' };
  const later = await openShop(t, { variables, databaseUrl: shop.databaseUrl });
  await later.login({ email: 'boss@example.com', password: 'a-better-password' });
  t.notMatch(JSON.stringify([later.process.output, later.process.log]), 'a-better-password');
});

t.test('without a secret, outside production: a random one, and a warning', async (t) => {
  const shop = await openShop(t, { variables: { SECRET_KEY: '', JWT_SECRET: '' } });
  t.ok(shop.process.log.some(({ level, msg }) => level === 40 && /SECRET_KEY/.test(msg)));
  const token = await shop.login();
  const other = await openShop(t, { variables: { SECRET_KEY: '', JWT_SECRET: '' }, databaseUrl: shop.databaseUrl });
  isError(t, await other.get('/api/roles', { token }), 'unauthorized', 'each start has its own');
});

t.test('an invalid setting fails at start with a sentence that names it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'shop-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const other = createServer().listen(0, '127.0.0.1');
  t.teardown(() => other.close());
  await once(other, 'listening');
  const taken = String((other.address() as AddressInfo).port);
  await Promise.all([
    refusesToStart(t, { PORT: taken }, `Port ${taken} is taken: set PORT`),
    refusesToStart(t, { SECRET_KEY: 'short' }, 'SECRET_KEY'),
  ]);
  for (const variables of [
    { DATABASE_URL: `sqlite:${join(folder, 'no', 'such', 'folder.sqlite')}` },
    { NON_AUTH_ENDPOINTS: 'no path' },
    { NODE_ENV: 'production', SECRET_KEY: '' },
  ]) {
    const [name] = Object.keys(variables).toReversed();
    const expected = { name: 'ImproperlyConfigured', message: new RegExp(name!) };
    await t.rejects(new ShopInside().start(t, { DATABASE_URL: 'sqlite::memory:', ...variables }), expected);
  }
  t.notOk(existsSync(join(folder, 'no')));
});

async function refusesToStart(t: Test, variables: Variables, name: string): Promise<void> {
  const shop = new ShopProcess(t, { DATABASE_URL: 'sqlite::memory:', ...variables });
  const { code } = await shop.exited;
  t.equal(code, 1, `${name}: exit code 1`);
  t.match(shop.output.join('\n'), name);
  t.notMatch(shop.output.join('\n'), /\bat .+:\d+:\d+/, `${name}: no stack`);
}
