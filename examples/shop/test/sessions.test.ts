import t, { type Test } from 'tap';
import { buildApp } from '../src/app.ts';
import { readSettings } from '../src/settings.ts';
import { freshDatabase } from './support/database.ts';
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

t.test('a secret is replaced while sessions go on', async (t) => {
  const [old, fresh] = ['the old secret of this test: 32 bytes', 'the new secret of this test: 32 bytes'];
  const databaseUrl = await freshDatabase(t, 'sqlite');
  const open = async (variables: Record<string, string>) => {
    const app = await buildApp(readSettings({ DATABASE_URL: databaseUrl, BCRYPT_ROUNDS: '4', ...variables }));
    t.teardown(() => app.close());
    const me = async (token: string): Promise<number> => {
      const headers = { authorization: `Bearer ${token}` };
      return (await app.inject({ method: 'GET', url: '/api/auth/me', headers })).statusCode;
    };
    const post = async (url: string, payload: object) => {
      const response = await app.inject({ method: 'POST', url, payload });
      return response.json<{ access_token: string; refresh_token: string }>();
    };
    return { me, post };
  };
  const before = await open({ SECRET_KEY: old });
  const login = await before.post('/api/auth/login', { ...ADMIN, refresh: 'body' });
  const during = await open({ SECRET_KEY: fresh, SECRET_KEY_FALLBACKS: old });
  t.equal(await during.me(login.access_token), 200, 'an access token stays valid');
  const { access_token } = await during.post('/api/auth/refresh', { refresh_token: login.refresh_token });
  t.equal(await before.me(access_token), 401, 'new tokens have the new secret');
  const after = await open({ SECRET_KEY: fresh });
  t.equal(await after.me(access_token), 200);
  t.equal(await after.me(login.access_token), 401);
});
