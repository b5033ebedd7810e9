import t from 'tap';
import { buildApp } from '../src/app.ts';
import { readSettings } from '../src/settings.ts';

const SETTINGS = { DATABASE_URL: 'sqlite::memory:', BCRYPT_ROUNDS: '4' };
const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

t.test('a browser at the address of the shop is led to the explorer', async (t) => {
  const app = await buildApp(readSettings(SETTINGS));
  t.teardown(() => app.close());
  const home = await app.inject({ url: '/', headers: html });
  t.equal(home.statusCode, 302);
  t.equal(home.headers.location, '/api');
  t.equal(home.headers.vary, 'Accept');
  for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
    const { statusCode, body } = await app.inject({ url: '/', headers });
    t.equal(statusCode, 404);
    t.match(JSON.parse(body), { error: 'No route GET /', code: 'not_found' });
  }
  const page = await app.inject({ url: '/api/products', headers: html });
  t.match(page.headers['content-type'], 'text/html');
  t.match(page.headers['content-security-policy'], /script-src 'self'/, "the page's own policy, not that of answers");
  t.notMatch((await app.inject('/openapi.json')).body, /"\/":/);
});

t.test('EXPLORER=off, the default of production, leaves it out', async (t) => {
  t.equal(readSettings({}).explorer, true);
  t.equal(readSettings({ EXPLORER: 'off' }).explorer, false);
  const production = { NODE_ENV: 'production', SECRET_KEY: 'x'.repeat(32) };
  t.equal(readSettings(production).explorer, false);
  t.equal(readSettings({ ...production, EXPLORER: 'on' }).explorer, true);
  t.throws(() => readSettings({ EXPLORER: 'yes' }), /EXPLORER must be on or off; got "yes"/);
  const app = await buildApp(readSettings({ ...SETTINGS, EXPLORER: 'off' }));
  t.teardown(() => app.close());
  t.equal((await app.inject({ url: '/', headers: html })).statusCode, 404);
  const list = await app.inject({ url: '/api/products', headers: html });
  t.match(list.headers['content-type'], 'application/json');
  t.equal(list.headers.vary, undefined);
});
