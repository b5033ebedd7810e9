import t from 'tap';
import { authSettings } from '../src/settings.ts';

const SECRET_KEY = 'a'.repeat(32);

t.test('further secrets verify beside the one that signs', async (t) => {
  const [JWT_SECRET, one, two] = ['b'.repeat(32), 'c'.repeat(32), 'd'.repeat(40)];
  const lists = { SECRET_KEY_FALLBACKS: ` ${one}, ${two},` };
  t.strictSame(authSettings({ SECRET_KEY, ...lists }).secret, [SECRET_KEY, one, two]);
  t.equal(authSettings({ SECRET_KEY, SECRET_KEY_FALLBACKS: '' }).secret, SECRET_KEY);
  t.equal(authSettings({ SECRET_KEY, JWT_SECRET, ...lists }).secret, JWT_SECRET, 'those of the secret in use');
  t.strictSame(authSettings({ SECRET_KEY, JWT_SECRET, JWT_SECRET_FALLBACKS: one }).secret, [JWT_SECRET, one]);
  t.throws(() => authSettings({ SECRET_KEY, JWT_SECRET_FALLBACKS: one }), {
    name: 'ImproperlyConfigured',
    message: /JWT_SECRET_FALLBACKS needs JWT_SECRET/,
  });
  t.throws(() => authSettings({ SECRET_KEY, SECRET_KEY_FALLBACKS: `${one},a short one` }), {
    name: 'ImproperlyConfigured',
    message: /^SECRET_KEY_FALLBACKS must be secrets of at least 32 bytes, separated by commas; number 2 is shorter$/,
  });
});

t.test('defaults: JWT_SECRET is SECRET_KEY, tokens last a day, the endpoints are the plugin’s', async (t) => {
  t.strictSame(authSettings({ SECRET_KEY }), { secret: SECRET_KEY, expirationDelta: 86_400 });
  t.strictSame(authSettings({ SECRET_KEY, JWT_SECRET: '', JWT_ACCESS_TOKEN_EXPIRES: '', NON_AUTH_ENDPOINTS: '' }), {
    secret: SECRET_KEY,
    expirationDelta: 86_400,
  });
});

t.test('every variable is read', async (t) => {
  const env = {
    SECRET_KEY,
    JWT_SECRET: 'b'.repeat(32),
    JWT_ACCESS_TOKEN_EXPIRES: '60',
    NON_AUTH_ENDPOINTS: '/a, GET /b ,,/c/*',
    USER_CACHE_SECONDS: '5',
  };
  t.strictSame(authSettings(env), {
    secret: 'b'.repeat(32),
    expirationDelta: 60,
    nonAuthEndpoints: ['/a', 'GET /b', '/c/*'],
    userCacheSeconds: 5,
  });
  t.match(authSettings({ SECRET_KEY, USER_CACHE_SECONDS: '0' }), { userCacheSeconds: 0 });
  t.match(authSettings({ SECRET_KEY, USER_CACHE_SECONDS: '300' }), { userCacheSeconds: 300 });
  t.notOk('userCacheSeconds' in authSettings({ SECRET_KEY, USER_CACHE_SECONDS: '' }), 'an empty variable is absent');
});

t.test('an invalid value fails at start and is named', async (t) => {
  t.throws(() => authSettings({}), { name: 'ImproperlyConfigured', message: /SECRET_KEY/ });
  for (const seconds of ['0', '-1', '1.5', 'day', '1e3', '9999999999', ' 5']) {
    t.throws(() => authSettings({ SECRET_KEY, JWT_ACCESS_TOKEN_EXPIRES: seconds }), {
      message: /JWT_ACCESS_TOKEN_EXPIRES/,
    });
  }
  for (const seconds of ['-1', '301', '1.5', 'on', '1e2', '0300', ' 5']) {
    t.throws(() => authSettings({ SECRET_KEY, USER_CACHE_SECONDS: seconds }), {
      name: 'ImproperlyConfigured',
      message: /^USER_CACHE_SECONDS must be a whole number of seconds from 0 to 300, got ".*"$/,
    });
  }
});
