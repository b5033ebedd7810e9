/** The routes of `@viewset/auth` by the client, from the first request of a program on. */
import { IsAuthenticated, ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import { fastify } from 'fastify';
import t from 'tap';
import {
  type ApiKeysApi,
  auth,
  type AuthApi,
  type LoginAnswer,
  type MeApi,
  type SecondFactorApi,
  type SessionsApi,
  type TwoFactorApi,
} from '../../auth/src/index.ts';
import { Account, ApiKey, Role, Session, TwoFactor } from '../../auth/test/support/entities.ts';
import { codeOf } from '../../auth/test/support/totp-code.ts';
import { openSqlite } from '../../core/test/support/databases.ts';
import { type ApiOf, type ClientOptions, createClient } from '../src/index.ts';
import { refreshByCookie } from '../src/refresh-by-cookie.ts';

class RoleViewSet extends ModelViewSet(Role, {
  read: readShape(Role, ['id', 'name']),
  permissionClasses: [IsAuthenticated],
}) {}
const newRouter = () => new Router({ prefix: 'api' }).register('roles', RoleViewSet);
type RoleApi = ReturnType<typeof newRouter>;

t.test('a program registers, logs in and sends requests', async (t) => {
  const orm = await openSqlite(t, { entities: [Account, Role] });
  const em = orm.em.fork();
  await em.persist(em.create(Role, { name: 'user' })).flush();
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  const sent: string[] = [];
  await app.register(viewset, { orm });
  await app.register(auth, {
    account: Account,
    secret: 's'.repeat(32),
    bcryptRounds: 4,
    urlPrefix: '/api/auth',
    mailer: { send: async (_recipient, _subject, content) => void sent.push(content) },
  });
  await app.register(newRouter().plugin);
  const session = { token: '' };
  const api = createClient<ApiOf<RoleApi> & { auth: AuthApi }>({
    url: `${await app.listen({ port: 0, host: '127.0.0.1' })}/api`,
    token: () => session.token,
  });

  const account = { email: 'ada@example.com', password: 'correct horse' };
  t.match(await api.auth.sendVerificationEmail.post({ email: account.email }), { message: String });
  const code = /\d{6}/.exec(sent[0]!)![0];
  const { user } = await api.auth.register.post({ ...account, name: 'Ada', code });
  t.strictSame([user.email, user.name], [account.email, 'Ada']);
  t.match(await api.roles.list.safe(), { ok: false, status: 401 });
  t.match(await api.auth.login.post.safe({ ...account, password: 'wrong' }), { ok: false, status: 401 });
  session.token = (await api.auth.login.post(account)).access_token;
  t.strictSame((await api.roles.list()).results, [{ id: 1, name: 'user' }]);

  // Written down only, not called.
  const mistakes = async (): Promise<void> => {
    // @ts-expect-error no password
    await api.auth.login.post({ email: 'ada@example.com' });
    // @ts-expect-error no such route
    await api.auth.logon.post(account);
    // @ts-expect-error no such answer
    void (await api.auth.login.post(account)).token;
    // @ts-expect-error the views keep their types
    await api.roles.list({ search: 'x' });
  };
  t.type(mistakes, 'function');
});

/** A `fetch` with the cookies of one browser. */
function browser() {
  const cookies = new Map<string, string>();
  const sent: string[] = [];
  const fetchWithCookies: NonNullable<ClientOptions['fetch']> = async (url, init) => {
    sent.push(`${init.method} ${new URL(url).pathname}`);
    const headers = new Headers(init.headers);
    headers.set('cookie', [...cookies].map((pair) => pair.join('=')).join('; '));
    headers.set('sec-fetch-site', 'same-origin');
    const answer = await fetch(url, { ...init, headers });
    for (const text of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
      cookies.set(name, value);
    }
    return answer;
  };
  return { fetch: fetchWithCookies, sent };
}

t.test('with sessions the client refreshes by itself', async (t) => {
  const orm = await openSqlite(t, { entities: [Account, Role, Session] });
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  const mailer = { send: async () => {} };
  const options = { account: Account, secret: 's'.repeat(32), bcryptRounds: 4, urlPrefix: '/api/auth', mailer };
  await app.register(auth, { ...options, sessions: Session });
  await app.register(newRouter().plugin);
  const em = orm.em.fork();
  const account = { email: 'ada@example.com', password: 'correct horse' };
  await em.persist(em.create(Account, { ...account, name: 'Ada' } as never)).flush();
  const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/api`;

  type Api = ApiOf<RoleApi> & { auth: AuthApi; 'auth/sessions': SessionsApi };
  const { fetch, sent } = browser();
  const refresh = refreshByCookie(`${url}/auth/refresh`, { fetch });
  const session = { token: '' };
  const api = createClient<Api>({ url, fetch, token: () => session.token, refresh });
  session.token = (await api.auth.login.post(account, { token: null })).access_token;
  await api.roles.list();
  session.token = 'no.longer.good';
  sent.length = 0;
  await Promise.all([api.roles.list(), api.roles.list(), api.roles.list()]);
  t.equal(sent.filter((line) => line === 'POST /api/auth/refresh').length, 1, 'once for all that wait');

  const listed = await api['auth/sessions'].list();
  t.match(listed, [{ current: true }]);
  const reloaded = createClient<Api>({ url, fetch, token: () => undefined, refresh });
  await reloaded.roles.list();
  await reloaded.auth.logout.post();
  t.match(await reloaded.roles.list.safe(), { ok: false, status: 401 }, 'after the logout there is nothing to refresh');

  const phone = createClient<Api>({ url });
  const { refresh_token } = await phone.auth.login.post({ ...account, refresh: 'body' });
  const { access_token: token } = await phone.auth.refresh.post({ refresh_token: refresh_token! });
  const [own] = await phone['auth/sessions'].list({}, { token });
  await phone['auth/sessions'].destroy(own!.id, { token });
  t.match(await phone.auth.logoutAll.post.safe(undefined, { token }), { ok: false, status: 401 });
});

t.test('account, two factors and API keys', async (t) => {
  const orm = await openSqlite(t, { entities: [Account, ApiKey, Role, TwoFactor] });
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  await app.register(auth, {
    account: Account,
    secret: 's'.repeat(32),
    bcryptRounds: 4,
    urlPrefix: '/api/auth',
    mailer: { send: async () => {} },
    twoFactor: { entity: TwoFactor, issuer: 'Shop' },
    apiKeys: ApiKey,
    me: { write: writeShape(Account, ['name']) },
  });
  await app.register(newRouter().plugin);
  const em = orm.em.fork();
  const account = { email: 'ada@example.com', password: 'correct horse' };
  await em.persist(em.create(Account, { ...account, name: 'Ada' } as never)).flush();

  interface Me {
    readonly id: number;
    readonly name: string;
  }
  type Api = ApiOf<RoleApi> & {
    auth: AuthApi<LoginAnswer> & MeApi<Me>;
    'auth/login': SecondFactorApi;
    'auth/two-factor': TwoFactorApi;
    'auth/api-keys': ApiKeysApi;
  };
  const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/api`;
  const session = { token: '' };
  const api = createClient<Api>({ url, token: () => session.token });
  const first = await api.auth.login.post(account, { token: null });
  t.ok(first.access_token, 'there is no second factor yet');
  session.token = first.access_token!;
  t.equal((await api.auth.me.patch({ name: 'Ada King' })).name, 'Ada King');
  t.equal((await api.auth.me()).name, 'Ada King');

  const { key } = await api['auth/api-keys'].create({ name: 'backup' });
  await api.roles.list({}, { token: key });
  const [listed] = await api['auth/api-keys'].list();
  await api['auth/api-keys'].destroy(listed!.id);
  t.match(await api.roles.list.safe({}, { token: key }), { ok: false, status: 401 });

  const { secret } = await api.auth.twoFactor.post();
  const { recovery_codes } = await api['auth/two-factor'].confirm.post({ code: codeOf(secret) });
  const { two_factor_token } = await api.auth.login.post(account, { token: null });
  const [code, other] = recovery_codes as [string, string];
  session.token = (await api['auth/login'].twoFactor.post({ two_factor_token: two_factor_token!, code })).access_token;
  await api.auth.twoFactor.delete({ password: account.password, code: other });
  t.match(await api.auth.login.post(account, { token: null }), { access_token: String });
  await api.auth.me.delete({ password: account.password });
  t.match(await api.auth.me.safe(), { ok: false, status: 401 });
});
