import { defineEntity, p } from '@mikro-orm/core';
import { MemoryStore, serverOptions, viewset } from '@viewset/core';
import fastify from 'fastify';
import t from 'tap';
import { forEachDatabase, openSqlite } from '../../../core/test/support/databases.ts';
import { auth } from '../../src/index.ts';
import { KeyRing } from '../../src/secrets/key-ring.ts';
import { SecretBox } from '../../src/secrets/secret-box.ts';
import { MailBox, PASSWORD, SECRET, startApp } from '../support/app.ts';
import { Account, Identity, Role, Session, TwoFactor } from '../support/entities.ts';
import { CLIENT, Navigator, TestGithub, TestProvider } from '../support/openid.ts';

const entities = [Account, Role, Identity, Session, TwoFactor];

/** The body of an answer. */
const bodyOf = async (answer: Response): Promise<Record<string, unknown>> =>
  (await answer.json()) as Record<string, unknown>;

forEachDatabase(t, { entities }, async (t, orm) => {
  const provider = await new TestProvider().start(t);
  const other = await new TestProvider().start(t);
  const github = await new TestGithub().start(t);
  const down = await new TestProvider().start(t);
  down.stop();
  const store = new MemoryStore();
  t.teardown(() => store.close());
  const providers = {
    main: { issuer: provider.issuer, ...CLIENT },
    other: { issuer: other.issuer, ...CLIENT },
    github: { issuer: github.issuer, ...CLIENT, kind: 'github' as const },
    down: { issuer: down.issuer, ...CLIENT },
    company: { issuer: other.issuer, ...CLIENT, trustUnverifiedEmails: true as const },
  };
  const options = {
    oauth: { identity: Identity, providers },
    sessions: Session,
    twoFactor: TwoFactor,
    passwords: {},
    me: {},
    store,
  };
  const app = await startApp(t, orm, options);
  const root = app.app.listeningOrigin;
  const { host } = new URL(root);
  const pathOf = (name: string): string => `${root}/auth/oauth/${name}`;
  provider.serve(`${pathOf('main')}/callback`);
  other.serve(`${pathOf('other')}/callback`);
  other.serve(`${pathOf('company')}/callback`);

  /** Goes to the service and back, up to the callback. */
  const callbackOf = (browser: Navigator, name = 'main'): Promise<string> =>
    browser.follow(pathOf(name), `${pathOf(name)}/callback`);
  const login = async (name = 'main', browser = new Navigator()): Promise<Response> =>
    browser.get(await callbackOf(browser, name));
  const stateCookie = (browser: Navigator): string | undefined =>
    [...browser.cookies(host).keys()].find((name) => name.startsWith('oauth_state'));
  const userOf = async (answer: Response): Promise<unknown> => {
    const { access_token: token } = await bodyOf(answer);
    return (await app.get('/me', String(token))).body['user'];
  };
  const refusal = async (answer: Response, status = 401): Promise<void> => {
    t.equal(answer.status, status);
    t.match(await bodyOf(answer), { code: status === 401 ? 'unauthorized' : /./ });
  };

  t.test('a verified address without an account gets one, and ends like a login', async (t) => {
    provider.person = { sub: 'new', email: 'New@Example.com', email_verified: true, name: 'Nea' };
    const browser = new Navigator();
    const begun = await browser.get(pathOf('main'));
    t.equal(begun.status, 302);
    const cookie = begun.headers.getSetCookie().find((each) => each.startsWith('oauth_state_')) ?? '';
    t.match(cookie, /; Path=\/auth\/oauth; HttpOnly; SameSite=Lax$/);
    const address = new URL(begun.headers.get('location') ?? '');
    t.equal(address.origin, provider.issuer);
    t.match(Object.fromEntries(address.searchParams), {
      response_type: 'code',
      code_challenge_method: 'S256',
      code_challenge: /^[\w-]{43}$/,
      state: /^[\w-]{43}$/,
      nonce: /^[\w-]{43}$/,
      redirect_uri: `${pathOf('main')}/callback`,
    });
    const done = await browser.get(await browser.follow(address.href, '/callback'));
    t.equal(done.status, 200);
    t.match(done.headers.get('cache-control'), 'no-store');
    t.ok(browser.cookies(host).has('refresh_token'), 'sessions are on');
    t.notOk(stateCookie(browser));
    t.match(await userOf(done), { email: 'new@example.com', name: 'Nea' });
    const again = await login();
    t.match(await userOf(again), { email: 'new@example.com' });
    t.equal(await orm.em.fork().count(Identity, { subject: 'new' }), 1);
  });

  t.test("a known user is found by the service's id, with any address", async (t) => {
    provider.person = { sub: 'moves', email: 'before@example.com', email_verified: true };
    const first = await userOf(await login());
    provider.person = { sub: 'moves', email: 'new@example.com', email_verified: false };
    t.match(await userOf(await login()), { id: (first as { id: number }).id, email: 'before@example.com' });
    other.person = { sub: 'moves' };
    await refusal(await login('other'));
  });

  t.test('an account is linked only by a verified address', async (t) => {
    const { id } = await app.addAccount('ann@example.com');
    for (const email_verified of [false, undefined, 'true', 1]) {
      provider.person = { sub: 'thief', email: 'ann@example.com', email_verified } as never;
      await refusal(await login());
    }
    await app.addAccount('mike@example.com');
    for (const email of ['', 'mi\u212ae@example.com', 'MI\u212aE@example.com']) {
      provider.person = { sub: 'thief', email, email_verified: true };
      await refusal(await login());
    }
    provider.person = { sub: 'thief', email: 'm\u0130ke@example.com', email_verified: true };
    await refusal(await login());
    t.equal(await orm.em.fork().count(Identity, { subject: 'thief' }), 0);
    provider.person = { sub: 'ann', email: ' ANN@example.com', email_verified: true };
    const done = await login();
    t.match(await userOf(done), { id });
  });

  t.test('a trusted issuer may omit email_verified, but false is respected', async (t) => {
    const { id } = await app.addAccount('company@example.com');
    for (const email_verified of [false, 'true', 'false', 0, '']) {
      other.person = { sub: 'company', email: 'company@example.com', email_verified } as never;
      await refusal(await login('company'));
    }
    other.person = { sub: 'company', email: 'company@example.com' };
    await refusal(await login('other'));
    t.match(await userOf(await login('company')), { id });
    other.person = { sub: 'company-two', email: 'COMPANY\u212A@example.com' };
    await refusal(await login('company'));
    other.person = { sub: 'company-three' };
    await refusal(await login('company'));
  });

  t.test('an account that a service has made gets a password by its address, and can then be deleted', async (t) => {
    const email = 'fresh@example.com';
    provider.person = { sub: 'fresh', email, email_verified: true };
    const { access_token: token } = await bodyOf(await login());
    const headers = { authorization: `Bearer ${String(token)}` };
    const remove = (password: string, by = headers) =>
      app.request('DELETE', '/auth/me', { json: { password }, headers: by });
    t.equal((await remove('no such password')).status, 400, 'nobody knows the password');
    const from = app.mailer.mails.length;
    await app.post('/auth/forgot-password', { email });
    const new_password = 'chosen by the owner';
    const reset = { email, code: await app.sentCode(from, email), new_password };
    t.equal((await app.post('/auth/reset-password', reset)).status, 204);
    t.ok(await app.login(email, new_password));
    const again = await bodyOf(await login());
    t.equal((await remove(new_password, { authorization: `Bearer ${String(again['access_token'])}` })).status, 204);
    t.equal(await orm.em.fork().count(Identity, { subject: 'fresh' }), 0, 'the identity goes with the account');
  });

  t.test('the browser goes back to a page, with the cookie of its session and without a token', async (t) => {
    provider.person = { sub: 'page', email: 'page@example.com', email_verified: true };
    const browser = new Navigator();
    const callback = await browser.follow(
      `${pathOf('main')}?return_to=%2Fapi%3Fpage%3D2`,
      `${pathOf('main')}/callback`,
    );
    const done = await browser.get(callback);
    t.equal(done.status, 302);
    t.equal(done.headers.get('location'), '/api?page=2');
    t.ok(browser.cookies(host).has('refresh_token'));
    const { id } = await app.addAccount('page-two@example.com');
    const em = orm.em.fork();
    em.create(TwoFactor, { account: id as never, secret: 'x', recovery_codes: '', confirmed_at: new Date() });
    await em.flush();
    provider.person = { sub: 'page-two', email: 'page-two@example.com', email_verified: true };
    const half = await new Navigator().follow(`${pathOf('main')}?return_to=/api`, '/api#');
    t.match(half, /\/api#two_factor_token=[\w.-]+$/);
    for (const path of [
      '//evil.example/',
      'https://evil.example/',
      '/\\evil.example',
      'api',
      '/../x',
      `/${'x'.repeat(1000)}`,
    ]) {
      const answer = await new Navigator().get(`${pathOf('main')}?return_to=${encodeURIComponent(path)}`);
      t.equal(answer.status, 400, path);
    }
  });

  t.test('two concurrent tabs both log in', async (t) => {
    provider.person = { sub: 'new', email: 'new@example.com', email_verified: true };
    const browser = new Navigator();
    const callbacks = [await callbackOf(browser), await callbackOf(browser), await callbackOf(browser)];
    for (const callback of callbacks) t.equal((await browser.get(callback)).status, 200);
    for (let begun = 0; begun < 10; begun++) await browser.get(pathOf('main'));
    const names = [...browser.cookies(host).keys()].filter((name) => name.startsWith('oauth_state'));
    t.equal(names.length, 4, 'the latest ones');
    t.equal((await browser.get(await callbackOf(browser))).status, 200);
  });

  t.test('errors return to the page with the code of the error', async (t) => {
    provider.person = { sub: 'new', email: 'new@example.com', email_verified: true };
    const back = async (change: (url: URL) => void, browser = new Navigator()): Promise<Response> => {
      const begun = `${pathOf('main')}?return_to=/page%3Fa%3Db`;
      const url = new URL(await browser.follow(begun, `${pathOf('main')}/callback`));
      change(url);
      return browser.get(url.href);
    };
    const cancelled = await back((url) => {
      const state = url.searchParams.get('state') ?? '';
      url.search = new URLSearchParams({ state, error: 'access_denied', iss: provider.issuer }).toString();
    });
    t.equal(cancelled.status, 302);
    t.equal(cancelled.headers.get('location'), '/page?a=b#error=unauthorized');
    const wrongCode = await back((url) => url.searchParams.set('code', 'x'));
    t.equal(wrongCode.headers.get('location'), '/page?a=b#error=unauthorized');
    const browser = new Navigator();
    let callback = '';
    const done = await back((url) => (callback = url.href), browser);
    t.equal(done.headers.get('location'), '/page?a=b');
    const again = await browser.get(callback);
    t.equal(again.headers.get('location'), '/page?a=b#error=unauthorized', 'back and reload');
    provider.person = { sub: 'unverified', email: 'who@example.com' };
    t.equal((await back(() => {})).headers.get('location'), '/page?a=b#error=unauthorized');
    const off = await new Navigator().get(`${pathOf('down')}?return_to=/page`);
    t.equal(off.headers.get('location'), '/page#error=service_unavailable', 'a service that is down');
    await refusal(await new Navigator().get(callback), 401);
  });

  t.test('a disabled account does not come in', async () => {
    await app.addAccount('off@example.com', { is_active: false });
    provider.person = { sub: 'off', email: 'off@example.com', email_verified: true };
    await refusal(await login());
  });

  t.test('an account with two factors must enter the second one', async (t) => {
    const { id } = await app.addAccount('two@example.com');
    const em = orm.em.fork();
    em.create(TwoFactor, { account: id as never, secret: 'x', recovery_codes: '', confirmed_at: new Date() });
    await em.flush();
    provider.person = { sub: 'two', email: 'two@example.com', email_verified: true };
    const done = await login();
    t.equal(done.status, 200);
    t.strictSame(Object.keys(await bodyOf(done)), ['two_factor_token']);
  });

  t.test('a callback is good once, and only in the browser that began', async (t) => {
    provider.person = { sub: 'new', email: 'new@example.com', email_verified: true };
    const browser = new Navigator();
    const callback = await callbackOf(browser);
    await refusal(await new Navigator().get(callback));
    const victim = new Navigator();
    await victim.get(pathOf('main'));
    await refusal(await victim.get(callback));
    const kept = new Map(browser.cookies(host));
    t.equal((await browser.get(callback)).status, 200);
    for (const [name, value] of kept) browser.cookies(host).set(name, value);
    await refusal(await browser.get(callback));
  });

  t.test('a callback of another provider or state, or with an error, is refused', async (t) => {
    const browser = new Navigator();
    other.person = { sub: 'new', email: 'new@example.com', email_verified: true };
    const callback = new URL(await callbackOf(browser, 'other'));
    const mixed = `${pathOf('main')}/callback${callback.search}`;
    await refusal(await browser.get(mixed));
    for (const change of [
      (url: URL) => url.searchParams.set('state', 'x'),
      (url: URL) => url.searchParams.append('state', 'x'),
      (url: URL) => url.searchParams.delete('state'),
      (url: URL) => url.searchParams.set('iss', provider.issuer),
      (url: URL) => url.searchParams.delete('code'),
      (url: URL) => url.searchParams.set('code', 'x'),
      (url: URL) =>
        (url.search = new URLSearchParams({
          state: url.searchParams.get('state') ?? '',
          error: 'access_denied',
          iss: other.issuer,
        }).toString()),
    ]) {
      const another = new Navigator();
      const url = new URL(await callbackOf(another, 'other'));
      change(url);
      await refusal(await another.get(url.href));
    }
    t.equal((await browser.get(callback.href)).status, 200, 'the mixed-up one has ended nothing');
  });

  t.test('beginning many logins stores nothing', async (t) => {
    const puts: string[] = [];
    const counting = new (class extends MemoryStore {
      override put(...[key, ...rest]: Parameters<MemoryStore['put']>) {
        puts.push(key);
        return super.put(key, ...rest);
      }
    })();
    t.teardown(() => counting.close());
    const own = await startApp(t, orm, { ...options, store: counting });
    for (let each = 0; each < 5; each++) {
      const begun = await fetch(`${own.app.listeningOrigin}/auth/oauth/github`, { redirect: 'manual' });
      t.equal(begun.status, 302);
    }
    t.strictSame(puts, []);
  });

  t.test('a callback that comes late is refused', async () => {
    const browser = new Navigator();
    const callback = await callbackOf(browser);
    const box = new SecretBox(KeyRing.of([SECRET], 'oauth cookies'));
    const cookies = browser.cookies(host);
    const name = stateCookie(browser)!;
    const flow = JSON.parse(box.open(cookies.get(name) ?? '', 'oauth flow') ?? '{}') as object;
    cookies.set(name, box.seal(JSON.stringify({ ...flow, expiresAt: Date.now() - 1 }), 'oauth flow'));
    await refusal(await browser.get(callback));
    cookies.set(name, 'x');
    await refusal(await browser.get(callback));
  });

  t.test('a code of another login of the same browser is refused', async () => {
    const browser = new Navigator();
    const first = new URL(await callbackOf(browser));
    const second = new URL(await callbackOf(browser));
    second.searchParams.set('code', first.searchParams.get('code') ?? '');
    await refusal(await browser.get(second.href));
  });

  t.test('the service may change its keys at any moment', async (t) => {
    provider.person = { sub: 'new', email: 'new@example.com', email_verified: true };
    t.equal((await login()).status, 200);
    provider.serve(`${pathOf('main')}/callback`);
    t.equal((await login()).status, 200);
    t.equal(provider.requests.filter((path) => path.startsWith('/.well-known')).length, 1, 'one discovery');
  });

  t.test('a service that is down returns 503, and an unknown one 404', async () => {
    await refusal(await new Navigator().get(pathOf('down')), 503);
    for (const name of ['nobody', '__proto__', 'constructor']) {
      await refusal(await new Navigator().get(pathOf(name)), 404);
    }
    await refusal(await new Navigator().get(`${pathOf('nobody')}/callback`), 404);
  });

  t.test('GitHub, by its verified primary address', async (t) => {
    github.user = { id: 77, login: 'octo', name: null };
    github.emails = [
      { email: 'else@example.com', primary: false, verified: true },
      { email: 'octo@example.com', primary: true, verified: false },
    ];
    await refusal(await login('github'));
    github.emails = [{ email: 'octo@example.com', primary: true, verified: true }];
    t.match(await userOf(await login('github')), { email: 'octo@example.com', name: 'octo' });
    github.emails = [];
    t.match(await userOf(await login('github')), { email: 'octo@example.com' });
    github.user = { message: 'no' };
    await refusal(await login('github'));
  });

  /** A browser in which somebody is logged in, with an access token. */
  const loggedIn = async (email: string, password?: string): Promise<{ id: number; by: Record<string, string> }> => {
    const { id } = (await app.stored(email)) ?? (await app.addAccount(email));
    return { id, by: { authorization: `Bearer ${await app.login(email, password)}` } };
  };
  const links = async (by: Record<string, string>): Promise<unknown> =>
    (await app.request('GET', '/auth/oauth/links', { headers: by })).body;
  const link = async (by: Record<string, string>, body: object = {}, name = 'main'): Promise<Response> => {
    const browser = new Navigator();
    const { url } = await bodyOf(await browser.post(`${pathOf(name)}/link`, body, by));
    return browser.get(await browser.follow(String(url), `${pathOf(name)}/callback`));
  };
  const unlink = async (by: Record<string, string>, name = 'main'): Promise<number> =>
    (await app.request('DELETE', `/auth/oauth/${name}/link`, { headers: by })).status;

  t.test('a service is linked and unlinked while logged in, with any address', async (t) => {
    const ann = await loggedIn('links@example.com');
    t.strictSame(await links(ann.by), []);
    provider.person = { sub: 'linked', email: 'other@example.com' };
    t.equal((await link(ann.by)).status, 204);
    t.strictSame(await links(ann.by), [{ provider: 'main' }]);
    t.equal((await link(ann.by)).status, 204, 'twice is once');
    t.match(await userOf(await login()), { id: ann.id });
    const page = await link(ann.by, { return_to: '/settings' });
    t.equal(page.headers.get('location'), '/settings');
    const bob = await loggedIn('links-bob@example.com');
    await refusal(await link(bob.by), 409);
    t.equal((await link(bob.by, { return_to: '/settings' })).headers.get('location'), '/settings#error=conflict');
    t.equal(await unlink(bob.by), 404);
    t.equal(await unlink(ann.by, 'nobody'), 404);
    t.equal(await unlink(ann.by), 204);
    t.strictSame(await links(ann.by), []);
    t.equal(await unlink(ann.by), 404);
    await refusal(await login());
    t.equal((await app.request('GET', '/auth/oauth/links')).status, 401);
    t.equal((await app.post('/auth/oauth/main/link', {})).status, 401);
    t.equal((await app.post('/auth/oauth/main/link', { return_to: '//evil.example' }, ann.by)).status, 400);
    t.equal((await app.post('/auth/oauth/nobody/link', {}, ann.by)).status, 404);
  });

  t.test('the last way to log in stays, also of removals at once', async (t) => {
    provider.person = { sub: 'only', email: 'only@example.com', email_verified: true };
    const { access_token } = await bodyOf(await login());
    const by = { authorization: `Bearer ${String(access_token)}` };
    t.equal(await unlink(by), 409);
    t.match(await userOf(await login()), { email: 'only@example.com' });
    github.user = { id: 4711, login: 'only', name: null };
    t.equal((await link(by, {}, 'github')).status, 204);
    const both = await Promise.all([unlink(by), unlink(by, 'github')]);
    t.strictSame(
      both.toSorted((one, other) => one - other),
      [204, 409],
    );
    const [left] = (await links(by)) as { provider: string }[];
    t.equal(await unlink(by, left!.provider), 409);
    const from = app.mailer.mails.length;
    await app.post('/auth/forgot-password', { email: 'only@example.com' });
    const code = await app.sentCode(from, 'only@example.com');
    await app.post('/auth/reset-password', { email: 'only@example.com', code, new_password: 'a password now' });
    const fresh = await loggedIn('only@example.com', 'a password now');
    t.equal(await unlink(fresh.by, left!.provider), 204);
  });

  t.test('a link needs a recent proof, and the session that requested it', async (t) => {
    const { id, by } = await loggedIn('proof@example.com');
    const age = () =>
      orm.em.fork().nativeUpdate(Session, { account: id as never }, { created_at: new Date(Date.now() - 601_000) });
    provider.person = { sub: 'proof' };
    await age();
    for (const method of ['POST', 'DELETE']) {
      const path = '/auth/oauth/main/link';
      const answer = await app.request(method, path, { headers: by, json: {} });
      t.match(answer, { status: 403, body: { code: 'forbidden' } });
      t.equal((await app.request(method, path, { headers: by, json: { password: 'wrong one' } })).status, 403);
    }
    t.equal((await link(by, { password: PASSWORD })).status, 204);
    const browser = new Navigator();
    const begun = await bodyOf(await browser.post(`${pathOf('main')}/link`, { password: PASSWORD }, by));
    const callback = await browser.follow(String(begun['url']), `${pathOf('main')}/callback`);
    await app.request('POST', '/auth/logout', { headers: by });
    await refusal(await browser.get(callback));
  });

  t.test('concurrent logins of a new user create one account', async (t) => {
    provider.person = { sub: 'race', email: 'race@example.com', email_verified: true };
    const browsers = [new Navigator(), new Navigator(), new Navigator()];
    const callbacks = await Promise.all(browsers.map((browser) => callbackOf(browser)));
    const answers = await Promise.all(browsers.map((browser, index) => browser.get(callbacks[index] ?? '')));
    t.strictSame(
      answers.map(({ status }) => status),
      [200, 200, 200],
    );
    t.equal(await orm.em.fork().count(Identity, { subject: 'race' }), 1);
    t.equal(await orm.em.fork().count(Account, { email: 'race@example.com' }), 1);
  });

  t.test('without registration, a new person stays out', async (t) => {
    const oauth = { ...options.oauth, register: false, providers: { main: providers.main } };
    const closed = await startApp(t, orm, { oauth, store });
    const address = `${closed.app.listeningOrigin}/auth/oauth/main`;
    provider.serve(`${address}/callback`);
    provider.person = { sub: 'stranger', email: 'stranger@example.com', email_verified: true };
    const browser = new Navigator();
    await refusal(await browser.get(await browser.follow(address, `${address}/callback`)));
    t.equal(await orm.em.fork().count(Account, { email: 'stranger@example.com' }), 0);
  });
});

t.test('invalid options fail at start', async (t) => {
  const main = { issuer: 'https://id.example.com', ...CLIENT };
  const good = { identity: Identity, providers: { main } };
  const fields = { id: p.integer().primary(), provider: p.string().length(50), subject: p.string().length(255) };
  const Loose = defineEntity({
    name: 'Loose',
    properties: { ...fields, account: () => p.manyToOne(Account).deleteRule('cascade') },
  });
  const wrong: [object, RegExp][] = [
    [{ oauth: { providers: { main } } }, /option "identity" must be the entity of identities/],
    [{ oauth: { ...good, identity: Loose } }, /"provider" and "subject" unique together/],
    [{ oauth: { ...good, providers: { 'a b': main } } }, /option "providers" must be names/],
    [{ oauth: { ...good, providers: { links: main } } }, /and not "links"/],
    [{ oauth: { ...good, providers: { main: { ...main, issuer: 'http://id.example.com' } } } }, /an https: URL/],
    [{ oauth: { ...good, providers: { main: { ...main, issuer: 'http://localhost.example' } } } }, /an https: URL/],
    [{ oauth: { ...good, providers: { main: { ...main, clientSecret: '' } } } }, /"providers.main.clientSecret"/],
    [{ oauth: { ...good, providers: { main: { ...main, kind: 'saml' } } } }, /"providers.main.kind"/],
    [{ oauth: { ...good, origin: 'example.com' } }, /option "origin" must be an origin/],
    [{ oauth: { ...good, regster: true } }, /unknown option "regster"/],
    [{ routes: ['login', 'oauth'] }, /the route "oauth" needs the option "oauth"/],
  ];
  for (const [options, message] of wrong) {
    const orm = await openSqlite(t, { entities: [...entities, Loose] });
    const app = fastify(serverOptions());
    await app.register(viewset, { orm });
    const given = { account: Account, secret: SECRET, mailer: new MailBox(), ...options };
    await t.rejects(async () => app.register(auth, given as never), { name: 'ImproperlyConfigured', message });
    await app.close().catch(() => {});
  }
});

t.test('an issuer on this machine may use plain HTTP', async (t) => {
  for (const host of ['localhost', 'id.localhost', '127.0.0.2', '[::1]']) {
    const orm = await openSqlite(t, { entities });
    const providers = { main: { issuer: `http://${host}:4444`, ...CLIENT } };
    await t.resolves(startApp(t, orm, { oauth: { identity: Identity, providers } }), host);
  }
});

t.test('the request log has neither the code nor the state of a callback', async (t) => {
  const orm = await openSqlite(t, { entities });
  const main = { issuer: 'https://id.example.com', ...CLIENT };
  const own = (request: { url: string }) => ({ where: request.url, agent: 'x' });
  for (const serializers of [{}, { req: own }]) {
    const lines: string[] = [];
    const stream = { write: (line: string) => void lines.push(line) };
    const app = fastify(serverOptions({ logger: { stream, serializers } }));
    t.teardown(() => app.close());
    await app.register(viewset, { orm });
    const oauth = { identity: Identity, providers: { main } };
    await app.register(auth, { account: Account, secret: SECRET, mailer: new MailBox(), sessions: Session, oauth });
    await app.inject('/auth/oauth/main/callback?code=a-secret-code&state=a-secret-state&iss=x');
    const all = lines.join('');
    t.match(all, /\/auth\/oauth\/main\/callback"/);
    t.notMatch(all, /a-secret/);
    t.match(all, 'req' in serializers ? /"where":.*"agent":"x"/ : /"method":"GET"/, 'the fields are the application’s');
    await app.inject('/auth/sessions?page=1');
    t.match(lines.join(''), /sessions\?page=1/, 'other routes keep theirs');
  }
});
