import type { Test } from 'tap';
import type { Page } from '../support/records.ts';
import { ADMIN } from '../support/shop.ts';
import type { Shops } from '../support/shops.ts';

/** The processes started at once, on an empty database. */
export async function oneFirstStart(t: Test, shops: Shops): Promise<void> {
  for (const shop of shops.all) {
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
    const { status, body } = await shop.get<{ checks: object }>('/health/');
    t.equal(status, 200);
    t.same(Object.keys(body.checks).toSorted(), ['redis', shop.kind].toSorted());
  }
}
