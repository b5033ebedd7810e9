import t, { type Test } from 'tap';
import { buildApp } from '../src/app.ts';
import { readSettings } from '../src/settings.ts';
import { ADMIN } from './support/shop.ts';

async function loginTo(t: Test, variables: Record<string, string>) {
  const app = await buildApp(readSettings({ DATABASE_URL: 'sqlite::memory:', BCRYPT_ROUNDS: '4', ...variables }));
  t.teardown(() => app.close());
  const login = await app.inject({ method: 'POST', url: '/api/auth/login', payload: ADMIN });
  const { access_token } = login.json<{ access_token: string }>();
  const headers = { authorization: `Bearer ${access_token}` };
  const cookies = [login.headers['set-cookie'] ?? []].flat().map((text) => text.split('=')[0]);
  return { cookies, send: (method: 'GET' | 'POST', url: string) => app.inject({ method, url, headers }) };
}

t.test('a login of the shop starts a session, and a logout ends it', async (t) => {
  const { cookies, send } = await loginTo(t, {});
  t.strictSame(cookies, ['device', 'refresh_token']);
  t.match((await send('GET', '/api/auth/sessions')).json(), [{ current: true }]);
  t.equal((await send('POST', '/api/auth/logout')).statusCode, 204);
  t.equal((await send('GET', '/api/roles')).statusCode, 401);
});

t.test('SESSIONS=off: a token is good until it expires', async (t) => {
  t.equal(readSettings({ SESSIONS: 'off' }).sessions, false);
  t.throws(() => readSettings({ SESSIONS: 'yes' }), /SESSIONS must be on or off; got "yes"/);
  const { cookies, send } = await loginTo(t, { SESSIONS: 'off' });
  t.strictSame(cookies, ['device']);
  t.equal((await send('POST', '/api/auth/logout')).statusCode, 404);
  t.equal((await send('GET', '/api/auth/sessions')).statusCode, 404);
  t.equal((await send('GET', '/api/roles')).statusCode, 200);
});
