import { createClient } from '@viewset/client';
import type { Api } from '../src/router.ts';
import { withShop } from './support/shop.ts';

withShop({ THROTTLE_IP: 'off', THROTTLE_USER: 'off' }, async (t, shop) => {
  const url = `${shop.url}/api`;
  const token = await shop.login();
  const anonymous = createClient<Api>({ url });
  const admin = createClient<Api>({ url, token });

  await t.test('the issue as it is written', async (t) => {
    const page = await anonymous.products.list({ search: 'oak', min_price: 5, sort: '-price' });
    t.strictSame([page.count, page.next, page.results[0]?.name], [10, false, 'Oak Table']);
    let pieces = 0;
    for await (const product of anonymous.products.each({ pageSize: 20 })) pieces += product.stock;
    const { results } = await admin.products.featured();
    t.ok(pieces > 0 && results.every(({ stock }) => stock > 0));
    const found = await admin.products.search({ q: 'chair', page_size: 2 });
    t.strictSame([found.keyword, found.count, found.results.length], ['chair', 5, 2]);
    const made = await admin.products.create({ name: 'Tea', price: 4.5 });
    t.strictSame(await admin.products.retrieve(made.id), { id: made.id, name: 'Tea', price: 4.5, stock: 0 });
    t.equal((await admin.products.update(made.id, { stock: 3 })).stock, 3);
    t.equal((await admin.products.replace(made.id, { name: 'Tee', price: 5 })).name, 'Tee');
    await admin.products.destroy(made.id);
    t.match(await admin.products.retrieve.safe(made.id), { ok: false, status: 404 });
  });

  await t.test('JSON Logic, and a filter across a relation', async (t) => {
    const filter = { and: [{ '<': [{ var: 'price' }, 20] }, { in: ['Oak', { var: 'name' }] }] } as const;
    const cheap = await anonymous.products.list({ filter, sort: ['price', 'name'] });
    t.strictSame(
      cheap.results.map(({ name }) => name),
      ['Oak Basket', 'Oak Tray'],
    );
    t.strictSame(
      (await admin.accounts.list({ role: 'admin', is_active: true })).results.map(({ email }) => email),
      ['admin@example.com'],
    );
  });

  await t.test('a union of the errors that a route has', async (t) => {
    const refused = await anonymous.products.create.safe({ name: 'Tea', price: 4.5 });
    t.match(refused, { ok: false, status: 401, error: { code: 'unauthorized' } });
    const wrong = await admin.products.create.safe({ name: '', price: -1 });
    if (wrong.ok || wrong.status !== 400) throw new Error('a 400 was expected');
    t.strictSame(
      wrong.error.details.map(({ path }) => path),
      ['/name', '/price'],
    );
    t.match(await admin.roles.create.safe({ name: 'admin' }), { ok: false, status: 409 });
    await t.rejects(admin.roles.retrieve('none'), { name: 'ApiError', code: 'not_found' });
  });

  await t.test('a token is renewed once for all calls that wait', async (t) => {
    let logins = 0;
    const renewing = createClient<Api>({
      url,
      refresh: () => {
        logins++;
        return shop.login();
      },
    });
    const pages = await Promise.all([renewing.accounts.list(), renewing.roles.list(), renewing.accounts.retrieve(1)]);
    t.equal(pages[0].results.length, 1);
    t.equal(logins, 1);
    const expired = createClient<Api>({ url, token: `${token.slice(0, -4)}AAAA`, refresh: () => shop.login() });
    t.equal((await expired.roles.list()).count, 2);
  });
});

withShop({ THROTTLE_IP: '2/2', NON_AUTH_ENDPOINTS: '/api/products*' }, async (t, shop) => {
  await t.test('a client waits for a throttle as long as Retry-After requires', async (t) => {
    const api = createClient<Api>({ url: `${shop.url}/api`, retries: 1 });
    const prices = await Promise.all([1, 2, 3].map(async (id) => (await api.products.retrieve(id)).price));
    t.equal(prices.length, 3);
    const hasty = createClient<Api>({ url: `${shop.url}/api`, retries: 0 });
    const refused = await Promise.all([1, 2, 3].map((id) => hasty.products.retrieve.safe(id)));
    const errors = refused.flatMap((answer) => (answer.ok ? [] : [answer.error]));
    t.ok(errors.length > 0);
    t.ok(errors.every((error) => error.status === 429 && error.retryAfterSeconds! >= 1));
  });
});
