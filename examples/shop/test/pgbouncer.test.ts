/** The shop behind PgBouncer in transaction mode, with the configuration of docs/how-to-pgbouncer.md. */
import t from 'tap';
import { createDatabaseBehindPgBouncer, skipPgBouncer } from '../../../packages/core/test/support/databases.ts';
import { openShop } from './support/shop.ts';

t.test('behind PgBouncer', { skip: skipPgBouncer() }, async (t) => {
  const shop = await openShop(t, { kind: 'postgresql', databaseUrl: await createDatabaseBehindPgBouncer(t) });
  t.ok(shop.process.log.some(({ level, msg }) => level === 40 && /PgBouncer/.test(msg ?? '')));
  const token = await shop.login();
  const created = await Promise.all(
    Array.from({ length: 30 }, (_, index) =>
      shop.post<{ id: number }>('/api/products', { name: `P${index}`, price: 1.5 }, { token }),
    ),
  );
  t.strictSame([...new Set(created.map(({ status }) => status))], [201]);
  const { id } = created[0]!.body;
  t.equal((await shop.patch(`/api/products/${id}`, { stock: 3 }, { token })).status, 200);
  t.match((await shop.get(`/api/products/${id}`, { token })).body, { stock: 3, price: 1.5 });
  const lists = await Promise.all(Array.from({ length: 30 }, () => shop.get('/api/products?search=p&sort=-price')));
  t.strictSame([...new Set(lists.map(({ status }) => status))], [200]);
  t.equal((await shop.get('/health/ready')).status, 200);
  await shop.newUser('ann@example.com');
});
