import { ImproperlyConfigured } from '@viewset/core';
import t from 'tap';
import { readSettings } from '../src/settings.ts';

const SECRET = 'x'.repeat(32);

t.test('defaults', async (t) => {
  const settings = readSettings({});
  t.match(settings, {
    production: false,
    host: '127.0.0.1',
    port: 3000,
    trustProxy: false,
    databaseUrl: undefined,
    redisUrl: undefined,
    smtpUrl: undefined,
    secretKeyIsRandom: true,
    jwtSecret: settings.secretKey,
    codeSecret: settings.secretKey,
    jwtAccessTokenExpiresSeconds: 86_400,
    userCacheSeconds: 0,
    throttleIp: { count: 100, seconds: 60 },
    throttleUser: { count: 1000, seconds: 60 },
    adminEmail: 'admin@example.com',
    adminPassword: 'admin-password',
    bcryptRounds: 12,
    sessions: true,
  });
  t.ok(Object.isFrozen(settings));
  t.ok(Buffer.byteLength(settings.secretKey) >= 32);
  t.not(readSettings({}).secretKey, settings.secretKey, 'another each time');
  t.same(readSettings({ PORT: '', SECRET_KEY: '', THROTTLE_IP: '' }).port, 3000, 'an empty variable counts as absent');
});

t.test('production', async (t) => {
  t.throws(() => readSettings({ NODE_ENV: 'production' }), /SECRET_KEY must be set in production/);
  t.throws(() => readSettings({ NODE_ENV: 'production', JWT_SECRET: SECRET }), /SECRET_KEY must be set in production/);
  const settings = readSettings({ NODE_ENV: 'production', SECRET_KEY: SECRET });
  t.match(settings, { production: true, secretKeyIsRandom: false, jwtSecret: SECRET, adminPassword: undefined });
});

t.test('values', async (t) => {
  t.same(readSettings({ THROTTLE_IP: 'off', THROTTLE_USER: '7/30' }).throttleUser, { count: 7, seconds: 30 });
  t.equal(readSettings({ THROTTLE_IP: 'off' }).throttleIp, undefined);
  t.same(readSettings({ TRUST_PROXY: 'loopback, 10.0.0.0/8,::1' }).trustProxy, ['loopback', '10.0.0.0/8', '::1']);
  for (const [text, value] of [
    ['on', true],
    ['true', true],
    ['off', false],
    ['false', false],
  ] as const) {
    t.equal(readSettings({ TRUST_PROXY: text }).trustProxy, value, `TRUST_PROXY=${text}`);
  }
  t.same(readSettings({ NON_AUTH_ENDPOINTS: ' /a , GET /b*,' }).nonAuthEndpoints, ['/a', 'GET /b*']);
  t.equal(readSettings({ USER_CACHE_SECONDS: '300' }).userCacheSeconds, 300);
  t.equal(readSettings({ ADMIN_EMAIL: ' Ann@Example.COM ' }).adminEmail, 'ann@example.com');
  t.equal(readSettings({ JWT_SECRET: SECRET, SECRET_KEY: 'y'.repeat(32) }).jwtSecret, SECRET);
});

t.test('secrets that are being replaced', async (t) => {
  const [old, older] = ['o'.repeat(32), 'p'.repeat(32)];
  const replacing = readSettings({ SECRET_KEY: SECRET, SECRET_KEY_FALLBACKS: `${old}, ${older}` });
  t.match(replacing, { secretKey: SECRET, jwtSecret: [SECRET, old, older], codeSecret: [SECRET, old, older] });
  const both = { SECRET_KEY: SECRET, JWT_SECRET: old, JWT_SECRET_FALLBACKS: older };
  t.match(readSettings(both), { jwtSecret: [old, older], codeSecret: SECRET });
  t.throws(() => readSettings({ ...both, SECRET_KEY_FALLBACKS: 'short' }), /SECRET_KEY_FALLBACKS must be secrets/);
  t.throws(
    () => readSettings({ SECRET_KEY: SECRET, JWT_SECRET_FALLBACKS: old }),
    /JWT_SECRET_FALLBACKS needs JWT_SECRET/,
  );
});

t.test('the services that people may log in by', async (t) => {
  t.same(readSettings({ OAUTH_GOOGLE_ISSUER: '' }).oauth, {});
  const variables = {
    OAUTH_MY_ID_ISSUER: 'https://id.example.com',
    OAUTH_MY_ID_CLIENT_ID: 'shop',
    OAUTH_MY_ID_CLIENT_SECRET: 'a secret',
  };
  const provider = { issuer: 'https://id.example.com', clientId: 'shop', clientSecret: 'a secret' };
  t.same(readSettings(variables).oauth, { 'my-id': provider });
  for (const name of Object.keys(variables)) {
    t.throws(() => readSettings({ ...variables, [name]: '' }), {
      name: 'ImproperlyConfigured',
      message: `${name} must be set besides the others of its service`,
    });
  }
});

const WRONG: Record<string, string[]> = {
  PORT: ['-1', '65536', '3000.5', 'http', '0x10', ' 1', '99999999999'],
  DATABASE_URL: ['shop.sqlite', 'sqlite:', 'mysql://x', 'postgres:// x', 'https://example.com'],
  REDIS_URL: ['localhost:6379', 'http://x', 'redis', 'redis+sentinel://x:26379', 'redis://a,b c'],
  SMTP_URL: ['mail.example.com', 'http://x', 'smtp:// x'],
  MAIL_FROM: ['nobody', 'a@b@c', '@', 'Shop <shop>', 'a@b\r\nBcc: c@d'],
  SECRET_KEY: ['short', 'x'.repeat(31)],
  JWT_SECRET: ['short', 'é'.repeat(15)],
  JWT_ACCESS_TOKEN_EXPIRES: ['0', '-1', '1.5', '1d', '2147483648'],
  USER_CACHE_SECONDS: ['-1', '1.5', '301', '5s'],
  THROTTLE_IP: ['100', '100/0', '0/60', '-1/60', '100/60/1', 'on', '1e2/60', '100/6O'],
  THROTTLE_USER: ['100', 'none'],
  TRUST_PROXY: ['1', 'yes', '10.0.0.0/33', '10.0.0/8', '::1/129', 'localhost', '1.2.3.4/0', 'loopback/8'],
  SHUTDOWN_DELAY: ['-1', '1.5', '301', '10s'],
  ADMIN_EMAIL: ['admin', 'a b@example.com'],
  ADMIN_PASSWORD: ['x'.repeat(73), 'é'.repeat(37)],
  BCRYPT_ROUNDS: ['3', '21', 'x', '4.5'],
};

t.test('a wrong value is ImproperlyConfigured, in a sentence that names the variable', async (t) => {
  for (const [name, values] of Object.entries(WRONG)) {
    for (const value of values) {
      try {
        readSettings({ [name]: value });
        t.fail(`${name}=${value} is taken`);
      } catch (error) {
        t.type(error, ImproperlyConfigured);
        t.match((error as Error).message, new RegExp(`^${name} must `), `${name}=${value}`);
      }
    }
  }
  for (const name of ['SECRET_KEY', 'JWT_SECRET', 'ADMIN_PASSWORD']) {
    const value = name === 'ADMIN_PASSWORD' ? 'secret'.repeat(20) : 'secret';
    t.throws(() => readSettings({ [name]: value }), { message: /^(?!.*secret)/ }, `${name} is not shown`);
  }
  t.throws(
    () => readSettings({ REDIS_URL: 'rediss//user:secret@x' }),
    { message: /^(?!.*secret)/ },
    'a password in a URL is not shown',
  );
});
