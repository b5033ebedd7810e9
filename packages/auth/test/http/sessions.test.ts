import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ConnectionException } from '@mikro-orm/core';
import t from 'tap';
import { forEachDatabase } from '../../../core/test/support/databases.ts';
import { PASSWORD, SECRET, startApp, type TestApp } from '../support/app.ts';
import { Browser, cookiesOf } from '../support/browser.ts';
import { Account, Role, Session } from '../support/entities.ts';

const queries: string[] = [];
const logged = { debug: ['query'] as ['query'], colors: false, logger: (line: string) => void queries.push(line) };
const entities = [Account, Role, Session];

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

forEachDatabase(t, { entities, orm: logged }, async (t, orm) => {
  const app = await startApp(t, orm, { sessions: Session });
  const second = await startApp(t, orm, { sessions: Session });
  let accounts = 0;
  const newAccount = async (): Promise<string> => {
    const email = `ann${++accounts}@example.com`;
    await app.addAccount(email);
    return email;
  };
  const newBrowser = async (email?: string): Promise<Browser> => {
    const browser = new Browser(app);
    await browser.login(email ?? (await newAccount()));
    return browser;
  };
  const loginForBody = async (email: string): Promise<Tokens> =>
    (await app.post('/auth/login', { email, password: PASSWORD, refresh: 'body' })).body as unknown as Tokens;
  const refresh = (refresh_token: unknown, at: TestApp = app) => at.post('/auth/refresh', { refresh_token });
  const rows = () => orm.em.fork().find(Session, {}, { populate: ['account'] });
  const age = (seconds: number) =>
    orm.em.fork().nativeUpdate(Session, {}, { last_used_at: new Date(Date.now() - seconds * 1000) });

  t.test(
    'a login returns the access token and sets the cookie; the session is in the header of the token',
    async (t) => {
      const email = await newAccount();
      const answer = await app.post('/auth/login', { email, password: PASSWORD });
      t.strictSame(Object.keys(answer.body), ['access_token']);
      const [header = '', payload = ''] = (answer.body as unknown as Tokens).access_token.split('.');
      const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
      t.match(decode(header)['sid'], /^[0-9a-f-]{36}$/);
      t.strictSame(Object.keys(decode(payload)), ['user_id', 'username', 'email', 'role', 'iat', 'exp']);
      const cookie = cookiesOf(answer).find(({ name }) => name === 'refresh_token');
      t.strictSame(cookie?.attributes, ['HttpOnly', 'Path=/auth', 'SameSite=Strict']);
      t.ok(Math.abs(cookie!.maxAge - 30 * 86_400) < 5);
    },
  );

  t.test('with "refresh": "body" the token is in the response, and no cookie is set', async (t) => {
    const email = await newAccount();
    const answer = await app.post('/auth/login', { email, password: PASSWORD, refresh: 'body' });
    t.strictSame(Object.keys(answer.body), ['access_token', 'refresh_token']);
    t.strictSame(answer.headers.getSetCookie(), []);
    for (const refresh of ['both', 5, null]) {
      const wrong = await app.post('/auth/login', { email, password: PASSWORD, refresh });
      t.match(wrong, { status: 400, body: { details: [{ path: '/refresh' }] } }, String(refresh));
    }
  });

  t.test('the database stores no token, and stored values cannot be used as tokens', async (t) => {
    const email = await newAccount();
    const { refresh_token: token } = await loginForBody(email);
    const stored = JSON.stringify(await rows());
    t.notOk(stored.includes(token));
    t.notOk(stored.includes(token.split('.')[1]!));
    const row = (await rows()).find(({ account }) => account.email === email);
    t.match(row, { ip: '127.0.0.1', user_agent: 'node' });
    t.equal((await refresh(row!.token_hash)).status, 401);
    t.equal((await refresh(`${row!.id}.${row!.token_hash}`)).status, 401);
    t.equal((await refresh(token)).status, 200, 'guesses end no session');
  });

  t.test('a refresh by the body returns a new pair, and the old token is used up', async (t) => {
    const first = await loginForBody(await newAccount());
    const answer = await refresh(first.refresh_token);
    t.strictSame(Object.keys(answer.body), ['access_token', 'refresh_token']);
    t.strictSame(answer.headers.getSetCookie(), []);
    const next = answer.body as unknown as Tokens;
    t.not(next.refresh_token, first.refresh_token);
    t.equal((await app.get('/me', next.access_token)).status, 200);
    t.equal((await app.get('/me', first.access_token)).status, 200, 'the earlier access token is of the same session');
  });

  t.test('a refresh by the cookie sets the next one', async (t) => {
    const browser = await newBrowser();
    const before = browser.cookies.get('refresh_token');
    const answer = await browser.refresh();
    t.strictSame(Object.keys(answer.body), ['access_token']);
    t.not(browser.cookies.get('refresh_token'), before);
    t.ok(await browser.isLoggedIn());
    t.equal((await browser.refresh()).status, 200);
  });

  t.test('a refresh without a token returns 401, and with a value that is not text 400', async (t) => {
    const own = { 'sec-fetch-site': 'same-origin' };
    t.equal((await app.request('POST', '/auth/refresh', { headers: own })).status, 401);
    t.equal((await app.request('POST', '/auth/refresh', { json: {}, headers: own })).status, 401);
    t.match(await refresh(5), { status: 400, body: { details: [{ path: '/refresh_token' }] } });
    t.equal((await app.post('/auth/refresh', [])).status, 400);
    for (const text of ['', 'x', 'a.b', 'a.b.c', '..', 'a.b.c.d', '.'.repeat(5000)]) {
      t.equal((await refresh(text)).status, 401, text.slice(0, 10));
    }
  });

  t.test('a token whose successor was not used returns it again, at any later time', async (t) => {
    const { refresh_token: token } = await loginForBody(await newAccount());
    const lost = (await refresh(token)).body as unknown as Tokens;
    await age(86_400);
    const answers = await Promise.all([refresh(token), refresh(token, second)]);
    for (const { status, body } of answers) {
      t.equal(status, 200);
      t.equal((body as unknown as Tokens).refresh_token, lost.refresh_token);
      t.equal((await app.get('/me', (body as unknown as Tokens).access_token)).status, 200);
    }
    t.equal((await refresh(lost.refresh_token)).status, 200);
  });

  t.test('outside of the grace period a token whose successor was used ends the complete session', async (t) => {
    const email = await newAccount();
    const first = await loginForBody(email);
    const bystander = await newBrowser(email);
    const next = (await refresh(first.refresh_token)).body as unknown as Tokens;
    const third = (await refresh(next.refresh_token)).body as unknown as Tokens;
    await age(11);
    t.equal((await refresh(first.refresh_token)).status, 401);
    t.equal((await refresh(third.refresh_token)).status, 401, 'the token that was good');
    t.equal((await app.get('/me', third.access_token)).status, 401, 'the access token');
    t.ok(await bystander.isLoggedIn(), 'other sessions of the account go on');
  });

  t.test('within the grace every earlier token of the chain gives the newest one: the third tab', async (t) => {
    const first = await loginForBody(await newAccount());
    const chain = [first.refresh_token];
    for (let tab = 0; tab < 5; tab++) {
      chain.push(((await refresh(chain.at(-1))).body as unknown as Tokens).refresh_token);
    }
    for (const token of chain.slice(0, -1)) {
      for (const at of [app, second]) {
        t.equal(((await refresh(token, at)).body as unknown as Tokens).refresh_token, chain.at(-1));
      }
    }
    t.equal((await refresh(chain.at(-1))).status, 200);
    const other = await loginForBody(await newAccount());
    const [, secret] = other.refresh_token.split('.');
    const [id, , proof] = first.refresh_token.split('.');
    t.equal((await refresh(`${id}.${secret}.${proof}`)).status, 401, 'of two sessions');
    t.equal((await refresh(first.refresh_token)).status, 200, 'which has ended neither');
  });

  t.test('without grace two tabs still work: the successor of the token was not used', async (t) => {
    const strict = await startApp(t, orm, { sessions: { entity: Session, graceSeconds: 0 } });
    const { refresh_token: token } = await loginForBody(await newAccount());
    const answers = await Promise.all([refresh(token, strict), refresh(token, strict)]);
    t.strictSame(
      answers.map(({ status }) => status),
      [200, 200],
    );
    const next = (answers[0].body as unknown as Tokens).refresh_token;
    t.equal((await refresh(next, strict)).status, 200);
    t.equal((await refresh(token, strict)).status, 401);
  });

  t.test('a refresh while the database fails returns 503, and the token is valid afterwards', async (t) => {
    const { refresh_token: token } = await loginForBody(await newAccount());
    const driver = orm.em.getDriver();
    const broken = ['find', 'findOne', 'nativeUpdate', 'nativeDelete', 'nativeInsert'] as const;
    for (const method of broken) {
      const own = driver[method];
      driver[method] = (() => Promise.reject(new ConnectionException(new Error('gone')))) as never;
      const answer = await refresh(token);
      t.ok([200, 503].includes(answer.status), `${method}: ${answer.status}`);
      const logout = await app.post('/auth/logout', { refresh_token: 'x' });
      t.equal(logout.status, 401);
      driver[method] = own as never;
    }
    t.equal((await refresh(token)).status, 200);
  });

  t.test('fifty concurrent refreshes leave one valid token and a valid session', async (t) => {
    const { refresh_token: token } = await loginForBody(await newAccount());
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => refresh(token, index % 2 === 0 ? app : second)),
    );
    t.strictSame([...new Set(answers.map(({ status }) => status))], [200]);
    const pairs = answers.map(({ body }) => body as unknown as Tokens);
    t.equal(new Set(pairs.map(({ refresh_token }) => refresh_token)).size, 1);
    for (const { access_token } of pairs.slice(0, 5)) t.equal((await app.get('/me', access_token)).status, 200);
    t.equal((await refresh(pairs[0]!.refresh_token)).status, 200);
  });

  t.test('fifty refreshes by the cookie at once leave a browser logged in', async (t) => {
    const browser = await newBrowser();
    const answers = await Promise.all(Array.from({ length: 50 }, () => browser.refresh()));
    t.strictSame([...new Set(answers.map(({ status }) => status))], [200]);
    t.ok(await browser.isLoggedIn());
    t.equal((await browser.refresh()).status, 200);
  });

  t.test('a logout ends the session in every process at once, and takes the cookie back', async (t) => {
    const email = await newAccount();
    const browser = await newBrowser(email);
    const bystander = await newBrowser(email);
    const token = browser.cookies.get('refresh_token');
    t.equal((await second.get('/me', browser.token)).status, 200);
    const answer = await browser.send('POST', '/auth/logout');
    t.match(answer, { status: 204, text: '' });
    t.match(cookiesOf(answer), [
      { name: 'refresh_token', value: '', maxAge: 0, attributes: ['HttpOnly', 'Path=/auth', 'SameSite=Strict'] },
    ]);
    for (const at of [app, second]) {
      t.match(await at.get('/me', browser.token), { status: 401, body: { code: 'unauthorized' } });
      t.equal((await refresh(token, at)).status, 401);
    }
    t.equal((await browser.send('POST', '/auth/logout')).status, 401, 'nor can the token log out again');
    t.ok(await bystander.isLoggedIn());
    t.equal((await app.request('POST', '/auth/logout')).status, 401, 'nobody is logged in');
  });

  t.test('a logout needs one of the two tokens: the cookie, when the access token has expired', async (t) => {
    const now = Math.floor(Date.now() / 1000);
    const expired = (token: string): string => {
      const [header = '', payload = ''] = token.split('.');
      const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
      const late = Buffer.from(JSON.stringify({ ...claims, iat: now - 100, exp: now - 50 })).toString('base64url');
      return `${header}.${late}.${createHmac('sha256', SECRET).update(`${header}.${late}`).digest('base64url')}`;
    };
    for (const path of ['/auth/logout', '/auth/logout-all']) {
      for (const token of ['', 'rubbish', undefined]) {
        const browser = await newBrowser();
        const { token: access } = browser;
        const cookie = browser.cookies.get('refresh_token');
        browser.token = token ?? expired(access);
        const stranger = await browser.send('POST', path, undefined, { 'sec-fetch-site': 'cross-site' });
        t.equal(stranger.status, 403, 'a page of another site');
        t.equal((await app.get('/me', access)).status, 200);
        t.equal((await browser.send('POST', path)).status, 204, path);
        t.notOk(browser.cookies.has('refresh_token'));
        t.equal((await app.get('/me', access)).status, 401, 'the session has ended');
        t.equal((await refresh(cookie)).status, 401);
      }
      const pair = await loginForBody(await newAccount());
      t.equal((await app.post(path, { refresh_token: pair.refresh_token })).status, 204, 'in the body');
      t.equal((await app.get('/me', pair.access_token)).status, 401);
      t.equal((await app.post(path, { refresh_token: 5 })).status, 400);
      t.equal((await app.post(path, { refresh_token: 'a.b.c' })).status, 401);
    }
  });

  t.test('a logout by a refresh token that was used before ends its session, but not all', async (t) => {
    const email = await newAccount();
    const [first, bystander] = [await loginForBody(email), await newBrowser(email)];
    const next = (await refresh(first.refresh_token)).body as unknown as Tokens;
    await refresh(next.refresh_token);
    await age(11);
    t.equal((await app.post('/auth/logout-all', { refresh_token: first.refresh_token })).status, 401);
    t.ok(await bystander.isLoggedIn());
    t.equal((await app.get('/me', next.access_token)).status, 200);
    t.equal((await app.post('/auth/logout', { refresh_token: first.refresh_token })).status, 204);
    t.equal((await app.get('/me', next.access_token)).status, 401);
    t.equal((await app.post('/auth/logout', { refresh_token: first.refresh_token })).status, 204, 'twice is once');
    t.ok(await bystander.isLoggedIn());
  });

  t.test('a logout with a cookie that is not ours clears it once', async (t) => {
    const browser = await newBrowser(await newAccount());
    browser.cookies.set('refresh_token', 'not ours');
    const answer = await browser.send('POST', '/auth/logout');
    t.equal(answer.status, 204);
    t.strictSame(
      cookiesOf(answer).map(({ name, value }) => [name, value]),
      [['refresh_token', '']],
    );
    const stale = new Browser(app);
    stale.cookies.set('refresh_token', 'not ours');
    const refused = await stale.send('POST', '/auth/logout');
    t.match({ status: refused.status, cookies: cookiesOf(refused) }, { status: 401, cookies: [{ value: '' }] });
    t.equal(cookiesOf(refused).length, 1);
  });

  t.test('a logout with a cookie of another session than the access token ends both', async (t) => {
    const browser = await newBrowser();
    const other = await loginForBody(await newAccount());
    const cookie = browser.token;
    browser.token = other.access_token;
    t.equal((await browser.send('POST', '/auth/logout')).status, 204);
    for (const token of [cookie, other.access_token]) t.equal((await app.get('/me', token)).status, 401);
  });

  t.test('a logout everywhere ends every session of the account, and of no other', async (t) => {
    const email = await newAccount();
    const browsers = [await newBrowser(email), await newBrowser(email)];
    const stranger = await newBrowser();
    t.equal((await browsers[0]!.send('POST', '/auth/logout-all')).status, 204);
    for (const browser of browsers) t.notOk(await browser.isLoggedIn());
    t.notOk((await rows()).some(({ account }) => account.email === email));
    t.ok(await stranger.isLoggedIn());
  });

  t.test('an account lists its sessions and ends one; those of another account return 404', async (t) => {
    const email = await newAccount();
    const browser = await newBrowser(email);
    const phone = await loginForBody(email);
    const stranger = await newBrowser();
    const list = async (from: Browser) =>
      (await from.send('GET', '/auth/sessions')).body as unknown as Record<string, unknown>[];
    const listed = await list(browser);
    t.equal(listed.length, 2);
    const [other, own] = listed;
    t.strictSame(Object.keys(own!), ['id', 'created_at', 'last_used_at', 'ip', 'user_agent', 'current']);
    t.match(own, { ip: '127.0.0.1', user_agent: 'node', current: true, created_at: /^\d{4}-.*Z$/ });
    t.match(other, { current: false });
    const theirs = (await list(stranger))[0]!['id'];
    for (const id of [theirs, '00000000-0000-4000-8000-000000000000', '7', 'x', '%00', `${String(other!['id'])}x`]) {
      t.equal((await browser.send('DELETE', `/auth/sessions/${String(id)}`)).status, 404, String(id));
    }
    t.ok(await stranger.isLoggedIn());
    t.equal((await browser.send('DELETE', `/auth/sessions/${String(other!['id'])}`)).status, 204);
    t.equal((await app.get('/me', phone.access_token)).status, 401);
    t.equal((await refresh(phone.refresh_token)).status, 401);
    t.match(await list(browser), [{ id: own!['id'] }]);
    t.equal((await browser.send('DELETE', `/auth/sessions/${String(own!['id'])}`)).status, 204);
    t.notOk(browser.cookies.has('refresh_token'));
    t.notOk(await browser.isLoggedIn());
    t.equal((await app.get('/auth/sessions')).status, 401);
  });

  t.test('an account that is disabled or deleted is refused, and so is its refresh', async (t) => {
    const email = await newAccount();
    const { access_token, refresh_token } = await loginForBody(email);
    await orm.em.fork().nativeUpdate(Account, { email }, { is_active: false });
    t.equal((await app.get('/me', access_token)).status, 401);
    t.equal((await refresh(refresh_token)).status, 401);
    await orm.em.fork().nativeUpdate(Account, { email }, { is_active: true });
    t.equal((await refresh(refresh_token)).status, 200, 'the session was kept');
    await orm.em.fork().nativeDelete(Account, { email });
    t.equal((await app.get('/me', access_token)).status, 401);
    t.equal((await refresh(refresh_token)).status, 401);
  });

  t.test('an account that is deleted while it logs in is refused', async (t) => {
    const email = await newAccount();
    const late = await startApp(t, orm, { routes: [], sessions: Session }, (server) => {
      const { auth } = server;
      server.post('/late', { config: { public: true } }, async (request, reply) => {
        const account = await auth.verifyLogin(request, email, PASSWORD);
        // The deletion comes after the password was checked, and before the session is stored.
        await orm.em.fork().nativeDelete(Account, { email });
        return auth.completeLogin(request, reply, account);
      });
    });
    t.match(await late.post('/late', {}), { status: 401, body: { error: 'The account is disabled' } });
  });

  t.test('an expired session is refused, and deleted at the next login or refresh', async (t) => {
    const email = await newAccount();
    const { access_token, refresh_token } = await loginForBody(email);
    await orm.em.fork().nativeUpdate(Session, {}, { expires_at: new Date(Date.now() - 1000) });
    t.equal((await app.get('/me', access_token)).status, 401);
    t.equal((await refresh(refresh_token)).status, 401);
    await loginForBody(email);
    t.equal((await rows()).filter(({ account }) => account.email === email).length, 1);
    t.ok((await rows()).length > 1, 'those of others wait');
    const third = await startApp(t, orm, { sessions: Session });
    await third.post('/auth/login', { email, password: PASSWORD });
    t.equal((await rows()).length, 2, 'another process has swept');
  });

  t.test('a refresh makes the session last longer, up to a bound from the login on', async (t) => {
    const times = { entity: Session, lifetimeSeconds: 100, maxLifetimeSeconds: 150 };
    const brief = await startApp(t, orm, { sessions: times });
    const email = await newAccount();
    const login = await brief.post('/auth/login', { email, password: PASSWORD });
    t.equal(cookiesOf(login).find(({ name }) => name === 'refresh_token')?.maxAge, 100);
    const row = async () => (await rows()).find(({ account }) => account.email === email)!;
    const { id } = await row();
    await orm.em.fork().nativeUpdate(Session, { id }, { created_at: new Date(Date.now() - 100_000) });
    const browser = new Browser(brief);
    for (const { name, value } of cookiesOf(login)) browser.cookies.set(name, value);
    t.equal((await browser.refresh()).status, 200);
    const { expires_at, created_at } = await row();
    t.equal(expires_at.getTime() - created_at.getTime(), 150_000);
  });

  t.test('a request is one query, with a session as without', async (t) => {
    const browser = await newBrowser();
    queries.length = 0;
    t.ok(await browser.isLoggedIn());
    t.equal(queries.length, 1, queries.join('\n'));
  });

  t.test('a token that names no session is good until it expires; no client can make one', async (t) => {
    const email = await newAccount();
    const account = (await app.stored(email))!;
    const token = app.app.auth.issueToken(account);
    t.equal((await app.get('/me', token)).status, 200);
    t.match((await app.get('/auth/sessions', token)).body, []);
    t.equal((await app.post('/auth/logout', {}, { authorization: `Bearer ${token}` })).status, 204);
    t.equal((await app.get('/me', token)).status, 200, 'there was no session to end');
    const { access_token } = await loginForBody(email);
    const [, payload, signature] = access_token.split('.');
    const [header] = token.split('.');
    t.equal((await app.get('/me', `${header}.${payload}.${signature}`)).status, 401, 'the header is signed');
  });

  t.test('without the option no session is loaded, and its routes do not exist', async (t) => {
    const without = await startApp(t, orm);
    const { access_token } = await loginForBody(await newAccount());
    t.equal((await without.get('/me', access_token)).status, 200);
    t.equal((await without.post('/auth/refresh', {})).status, 404);
    t.equal((await without.request('GET', '/auth/sessions', {})).status, 404);
  });

  t.test('a session is not valid for another account', async (t) => {
    const hers = await loginForBody(await newAccount());
    const other = await app.stored(await newAccount());
    const [header = ''] = hers.access_token.split('.');
    const { sid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { sid: string };
    await orm.em.fork().nativeUpdate(Session, { id: sid }, { account: other!.id });
    t.equal((await app.get('/me', hers.access_token)).status, 401);
  });

  t.test('a token whose session has no id of ours is no longer valid', async (t) => {
    const { access_token } = await loginForBody(await newAccount());
    const [header = '', payload] = access_token.split('.');
    const fields = JSON.parse(Buffer.from(header, 'base64url').toString()) as object;
    for (const sid of ['x', '', 'a\0b', '1', "' or 1=1", '0'.repeat(36), 'f'.repeat(3000)]) {
      const content = `${Buffer.from(JSON.stringify({ ...fields, sid })).toString('base64url')}.${payload}`;
      const signature = createHmac('sha256', SECRET).update(content).digest('base64url');
      t.equal((await app.get('/me', `${content}.${signature}`)).status, 401, sid);
    }
  });

  t.test('a login over a Unix socket, which has no address', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'viewset-'));
    const socketPath = join(folder, 'socket');
    const server = createServer((...exchange) => app.app.routing(...exchange)).listen(socketPath);
    t.teardown(() => {
      server.close();
      rmSync(folder, { recursive: true });
    });
    await once(server, 'listening');
    const email = await newAccount();
    const headers = { 'content-type': 'application/json' };
    const sent = request({ socketPath, path: '/auth/login', method: 'POST', headers, agent: false });
    sent.end(JSON.stringify({ email, password: PASSWORD }));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    const body = await text(answer);
    t.equal(answer.statusCode, 200, body);
    const { access_token: token } = JSON.parse(body) as Tokens;
    t.match((await app.get('/auth/sessions', token)).body, [{ ip: '', current: true }]);
  });

  t.test('with the cache of users a logout is noticed when the time is over', async (t) => {
    let now = 0;
    const caching = await startApp(t, orm, { sessions: Session, userCacheSeconds: 5, clock: () => now });
    const email = await newAccount();
    const one = await newBrowser(email);
    const two = await newBrowser(email);
    t.equal((await caching.get('/me', one.token)).status, 200);
    t.equal((await caching.get('/me', two.token)).status, 200);
    queries.length = 0;
    t.equal((await caching.get('/me', one.token)).status, 200);
    t.equal(queries.length, 0);
    await one.send('POST', '/auth/logout');
    t.equal((await caching.get('/me', one.token)).status, 200, 'late, as documented');
    now += 5000;
    t.equal((await caching.get('/me', one.token)).status, 401);
    t.equal((await caching.get('/me', two.token)).status, 200);
  });

  t.test('an application that finds its users itself has ended sessions refused all the same', async (t) => {
    const own = await startApp(t, orm, {
      sessions: Session,
      retrieveUser: (_request, payload) => ({ id: payload?.user_id, name: 'own' }) as never,
    });
    const browser = await newBrowser();
    t.match(await own.get('/me', browser.token), { status: 200, body: { user: { name: 'own' } } });
    await browser.send('POST', '/auth/logout');
    t.equal((await own.get('/me', browser.token)).status, 401);
  });
});
