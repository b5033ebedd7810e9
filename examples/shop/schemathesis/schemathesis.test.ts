/** Runs Schemathesis against the shop on every database: as the administrator, and without a login. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { runSchemathesis, skipSchemathesis as skip } from '../../../scripts/schemathesis.ts';
import { type Shop, withShop } from '../test/support/shop.ts';

const files = {
  config: fileURLToPath(new URL('schemathesis.toml', import.meta.url)),
  hooks: fileURLToPath(new URL('hooks.py', import.meta.url)),
};

withShop({ THROTTLE_IP: 'off', THROTTLE_USER: 'off', BCRYPT_ROUNDS: '4' }, async (t, shop) => {
  t.setTimeout(3_600_000);
  const variables = { VERIFICATION_CODES: await serveCodes(t, shop) };
  await t.test('without a login', { skip }, async (t) => {
    t.equal(await runSchemathesis(shop.url, files, { variables }), 0);
  });
  await t.test('the administrator is logged in', { skip }, async (t) => {
    const token = await shop.login();
    t.equal(await runSchemathesis(shop.url, files, { token, variables }), 0);
    const { status } = await shop.get('/api/accounts', { token });
    t.equal(status, 200, 'the account has not been lost on the way');
  });
});

/** Returns the code that the shop sends to an address, which the hooks cannot read in its log. */
async function serveCodes(t: Test, shop: Shop): Promise<string> {
  const server = createServer((request, response) => {
    const email = new URL(request.url ?? '/', shop.url).searchParams.get('email') ?? '';
    shop.verificationCode(email).then(
      (code) => response.end(code),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
