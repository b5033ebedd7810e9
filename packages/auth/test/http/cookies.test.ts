import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serverOptions, viewset } from '@viewset/core';
import { fastify, type FastifyServerOptions } from 'fastify';
import t, { type Test } from 'tap';
import { openSqlite } from '../../../core/test/support/databases.ts';
import { auth, type AuthOptions } from '../../src/index.ts';
import { MailBox, PASSWORD, SECRET } from '../support/app.ts';
import { cookiesOf } from '../support/browser.ts';
import { Account, Role, Session } from '../support/entities.ts';

const email = 'ann@example.com';

async function start(t: Test, server: FastifyServerOptions = {}, options: Partial<AuthOptions> = {}) {
  const orm = await openSqlite(t, { entities: [Account, Role, Session] });
  const app = fastify(serverOptions(server));
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  const common = { account: Account, secret: SECRET, bcryptRounds: 4, mailer: new MailBox(), sessions: Session };
  await app.register(auth, { ...common, urlPrefix: '/api/auth', ...options } as AuthOptions);
  await orm.em
    .fork()
    .persist(orm.em.fork().create(Account, { email, password: PASSWORD, name: 'Ann' } as never))
    .flush();
  const post = async (url: string, json: object | undefined, headers: Record<string, string> = {}) => {
    const body = json === undefined ? {} : { payload: json };
    const answer = await app.inject({ method: 'POST', url: `/api/auth${url}`, headers, ...body });
    const set = new Headers([answer.headers['set-cookie'] ?? []].flat().map((text) => ['set-cookie', text]));
    return {
      status: answer.statusCode,
      body: answer.json<Record<string, unknown>>(),
      cookies: cookiesOf({ headers: set }),
    };
  };
  const login = (headers: Record<string, string>) => post('/login', { email, password: PASSWORD }, headers);
  return { app, orm, post, login };
}

type App = Awaited<ReturnType<typeof start>>;

const secured = (path: string): string[] => ['HttpOnly', `Path=${path}`, 'SameSite=Strict', 'Secure'];
const SECURE = [
  { name: '__Host-device', attributes: secured('/') },
  { name: 'refresh_token', attributes: secured('/api/auth') },
];
const PLAIN = [
  { name: 'device', attributes: secured('/').slice(0, -1) },
  { name: 'refresh_token', attributes: secured('/api/auth').slice(0, -1) },
];

t.test('cookies are Secure save in plain HTTP with this machine itself', async (t) => {
  const { login } = await start(t);
  for (const host of ['localhost', 'localhost:3000', '127.0.0.1:3000', '[::1]:3000', 'shop.localhost:3000']) {
    t.match((await login({ host })).cookies, PLAIN, host);
  }
  for (const host of ['shop.example', '192.168.0.7:3000', 'localhost.example', '127.0.0.1.example', '[::2]']) {
    t.match((await login({ host })).cookies, SECURE, host);
  }
  const behindProxy = [
    { 'x-forwarded-for': '192.0.2.1' },
    { 'x-forwarded-proto': 'https' },
    { forwarded: 'proto=https' },
    { 'x-real-ip': '192.0.2.1' },
  ];
  for (const headers of behindProxy) {
    t.match((await login({ host: 'localhost:3000', ...headers })).cookies, SECURE, JSON.stringify(headers));
  }
});

t.test('a trusted proxy decides whether the browser uses HTTPS', async (t) => {
  const { login } = await start(t, { trustProxy: true });
  t.match((await login({ host: 'localhost:3000', 'x-forwarded-proto': 'https' })).cookies, SECURE);
  t.match((await login({ host: 'x', 'x-forwarded-host': 'shop.example' })).cookies, SECURE);
});

t.test('an address and a user agent of any length are cut to the length of their columns', async (t) => {
  const { login, orm } = await start(t, { trustProxy: true });
  const headers = { 'x-forwarded-for': `fe80::1%${'x'.repeat(5000)}`, 'user-agent': 'é'.repeat(5000) };
  t.equal((await login(headers)).status, 200);
  const [session] = await orm.em.fork().find(Session, {});
  t.equal(session?.ip.length, 45);
  t.equal(session?.user_agent?.length, 255);
});

t.test('over HTTPS cookies are Secure on every host', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'viewset-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=localhost', '-days', '2'];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ed25519', '-nodes', '-keyout', key, '-out', cert, ...subject], {
    stdio: 'ignore',
  });
  const { app } = await start(t, { https: { key: readFileSync(key), cert: readFileSync(cert) } } as never);
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const cookies = await new Promise<string[]>((resolve, reject) => {
    const options = { method: 'POST', headers: { 'content-type': 'application/json' }, rejectUnauthorized: false };
    const request = httpsRequest(`${url}/api/auth/login`, options, (answer) => {
      answer.resume();
      resolve(answer.headers['set-cookie'] ?? []);
    });
    request.on('error', reject).end(JSON.stringify({ email, password: PASSWORD }));
  });
  const headers = new Headers(cookies.map((text) => ['set-cookie', text]));
  t.match(cookiesOf({ headers }), SECURE);
});

async function refreshWith({ post, login }: App, headers: Record<string, string>): Promise<number> {
  const host = headers['host'] ?? 'shop.example';
  const [, token] = (await login({ host })).cookies;
  return (await post('/refresh', undefined, { host, cookie: `refresh_token=${token!.value}`, ...headers })).status;
}

t.test('a refresh by cookie must come from a page of the same origin', async (t) => {
  const app = await start(t);
  const good: Record<string, string>[] = [
    { 'sec-fetch-site': 'same-origin' },
    { origin: 'https://shop.example' },
    { origin: 'http://shop.example' },
    { host: 'shop.example:443', origin: 'https://shop.example' },
    { host: 'localhost:3000', origin: 'http://localhost:3000' },
    { host: '[::1]:3000', origin: 'http://[::1]:3000' },
    // Behind a proxy that puts its own host in the place of ours.
    { host: 'backend:3000', origin: 'https://shop.example', 'sec-fetch-site': 'same-origin' },
  ];
  for (const headers of good) t.equal(await refreshWith(app, headers), 200, JSON.stringify(headers));
  const bad: Record<string, string>[] = [
    {},
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': '' },
    { 'sec-fetch-site': 'cross-site', origin: 'https://shop.example' },
    { origin: 'https://evil.example' },
    { origin: 'https://shop.example.evil.example' },
    { origin: 'https://app.shop.example' },
    { origin: 'https://shop.example:8443' },
    { origin: 'null' },
    { origin: '' },
    { origin: 'shop.example' },
    { origin: 'file://shop.example' },
    { host: 'shop.example:80', origin: 'https://shop.example' },
  ];
  for (const headers of bad) t.equal(await refreshWith(app, headers), 403, JSON.stringify(headers));
});

t.test('behind a trusted proxy the host and the scheme are those of the browser', async (t) => {
  const app = await start(t, { trustProxy: true });
  const forwarded = { host: 'shop.example', 'x-forwarded-host': 'shop.example', 'x-forwarded-proto': 'https' };
  t.equal(await refreshWith(app, { ...forwarded, origin: 'https://shop.example' }), 200);
  t.equal(await refreshWith(app, { ...forwarded, origin: 'http://shop.example' }), 403, 'a page without TLS');
  t.equal(await refreshWith(app, { ...forwarded, origin: 'https://evil.example' }), 403);
});

t.test('a token in the body needs no origin: no page of another site can know it', async (t) => {
  const { post } = await start(t);
  const login = await post('/login', { email, password: PASSWORD, refresh: 'body' });
  const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  t.equal((await post('/refresh', { refresh_token: login.body['refresh_token'] }, headers)).status, 200);
});

t.test('the option "origins" names further allowed origins', async (t) => {
  const app = await start(t, {}, { sessions: { entity: Session, origins: ['https://app.example'] } });
  const headers = { host: 'api.example', 'sec-fetch-site': 'same-site' };
  t.equal(await refreshWith(app, { ...headers, origin: 'https://app.example' }), 200);
  t.equal(await refreshWith(app, { ...headers, origin: 'https://other.example' }), 403);
});

t.test('two refresh cookies are both rejected, because a page of a neighbouring domain may have set one', async (t) => {
  const { login, post } = await start(t);
  const [one, other] = [await login({}), await login({})].map(({ cookies }) => cookies[1]!.value);
  const cookie = `refresh_token=${one}; refresh_token=${other}`;
  t.equal((await post('/refresh', undefined, { cookie, 'sec-fetch-site': 'same-origin' })).status, 401);
  const good = `other=1;refresh_token=${one}; xrefresh_token=2`;
  t.equal((await post('/refresh', undefined, { cookie: good, 'sec-fetch-site': 'same-origin' })).status, 200);
});

t.test('the path of the cookie has the prefix of the scope', async (t) => {
  const orm = await openSqlite(t, { entities: [Account, Role, Session] });
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  const options = { account: Account, secret: SECRET, bcryptRounds: 4, mailer: new MailBox(), sessions: Session };
  await app.register(async (scope) => scope.register(auth, options), { prefix: '/v1' });
  await orm.em
    .fork()
    .persist(orm.em.fork().create(Account, { email, password: PASSWORD, name: 'Ann' } as never))
    .flush();
  const answer = await app.inject({ method: 'POST', url: '/v1/auth/login', payload: { email, password: PASSWORD } });
  t.match([answer.headers['set-cookie']].flat()[1], /Path=\/v1\/auth;/);
});

t.test('the name and the path of the cookie are options, for two applications on one host', async (t) => {
  const shop = await start(
    t,
    {},
    { sessions: { entity: Session, cookie: { name: 'shop_refresh', path: '/shop/api' } } },
  );
  const host = 'localhost:3000';
  const cookie = (await shop.login({ host })).cookies[1];
  t.match(cookie, { name: 'shop_refresh', attributes: ['HttpOnly', 'Path=/shop/api', 'SameSite=Strict'] });
  const sent = { host, 'sec-fetch-site': 'same-origin' };
  const both = `refresh_token=of.another.application; shop_refresh=${cookie!.value}`;
  t.equal((await shop.post('/refresh', undefined, { ...sent, cookie: both })).status, 200);
  t.equal((await shop.post('/refresh', undefined, { ...sent, cookie: 'refresh_token=x.y.z' })).status, 401);
  for (const wrong of [
    { name: 'a b' },
    { name: '__Host-x' },
    { name: 5 },
    { path: 'x' },
    { path: '/a; b' },
    { nam: 'x' },
  ]) {
    const sessions = { entity: Session, cookie: wrong as never };
    await t.rejects(start(t, {}, { sessions }), { name: 'ImproperlyConfigured' }, JSON.stringify(wrong));
  }
});

t.test('a prefix that a trusted proxy takes off is in the path of the cookie', async (t) => {
  const pathOf = async (app: App, headers: Record<string, string>): Promise<string | undefined> =>
    (await app.login(headers)).cookies[1]?.attributes.find((each) => each.startsWith('Path='));
  const trusting = await start(t, { trustProxy: true });
  t.equal(await pathOf(trusting, { 'x-forwarded-prefix': '/shop' }), 'Path=/shop/api/auth');
  t.equal(
    await pathOf(trusting, { 'x-forwarded-prefix': '/a/b.c/', 'x-forwarded-for': '192.0.2.1' }),
    'Path=/a/b.c/api/auth',
  );
  for (const prefix of ['shop', '/', '//evil', '/a;b', '/a b', '/../x', '/%2e', `/${'x'.repeat(300)}`, '/a, /b']) {
    t.equal(await pathOf(trusting, { 'x-forwarded-prefix': prefix }), 'Path=/api/auth', prefix);
  }
  const others = [await start(t), await start(t, { trustProxy: '192.0.2.7' })];
  for (const app of others) t.equal(await pathOf(app, { 'x-forwarded-prefix': '/shop' }), 'Path=/api/auth');
  const given = await start(t, { trustProxy: true }, { sessions: { entity: Session, cookie: { path: '/own' } } });
  t.equal(await pathOf(given, { 'x-forwarded-prefix': '/shop' }), 'Path=/own');
});

t.test('a Secure cookie over plain HTTP is one line in the log', async (t) => {
  const lines: string[] = [];
  const stream = { write: (line: string) => void lines.push(line) };
  const { login } = await start(t, { logger: { stream } });
  const warnings = (): number => lines.filter((line) => line.includes('the browser drops it')).length;
  await login({ host: 'localhost:3000' });
  await login({ host: 'shop.example', 'x-forwarded-for': '192.0.2.1' });
  t.equal(warnings(), 0, 'a proxy may speak HTTPS');
  await login({ host: '192.168.1.7:3000' });
  await login({ host: '192.168.1.7:3000' });
  t.equal(warnings(), 1);
});
