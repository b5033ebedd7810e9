/** Runs Schemathesis against the shop on every database: as the administrator, and as nobody. */
import { fileURLToPath } from 'node:url';
import { runSchemathesis, skipSchemathesis as skip } from '../../../scripts/schemathesis.ts';
import { withShop } from '../test/support/shop.ts';

const files = {
  config: fileURLToPath(new URL('schemathesis.toml', import.meta.url)),
  hooks: fileURLToPath(new URL('hooks.py', import.meta.url)),
};

withShop({ THROTTLE_IP: 'off', THROTTLE_USER: 'off', BCRYPT_ROUNDS: '4' }, async (t, shop) => {
  t.setTimeout(3_600_000);
  await t.test('nobody is logged in', { skip }, async (t) => t.equal(await runSchemathesis(shop.url, files), 0));
  await t.test('the administrator is logged in', { skip }, async (t) => {
    t.equal(await runSchemathesis(shop.url, files, await shop.login()), 0);
  });
});
