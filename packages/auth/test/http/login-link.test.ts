/** Logins by a link in a mail. */
import { MemoryStore } from '@viewset/core';
import t from 'tap';
import { forEachDatabase, openSqlite } from '../../../core/test/support/databases.ts';
import { type Answer, PASSWORD, SECRET, startApp, type TestApp } from '../support/app.ts';
import { Account, Passkey, Role, Session, TwoFactor } from '../support/entities.ts';

const URL_WITH_TOKEN = 'https://shop.example.com/login#token={token}';
const LINK = /https:\/\/shop\.example\.com\/login#token=(\S+)/;
const statuses = (answers: Answer[]): number[] => answers.map(({ status }) => status).toSorted((a, b) => a - b);

/** Asks for a link, and reads its token from the mail that follows the response. */
async function tokenFor(app: TestApp, email: string): Promise<string> {
  const from = app.mailer.mails.length;
  const answer = await app.post('/auth/login-link', { email });
  if (answer.status !== 200) throw new Error(answer.text);
  for (let place = from; ; place++) {
    const { recipient, content } = await app.mail(place);
    if (recipient === email.trim().toLowerCase()) return LINK.exec(content)?.[1] ?? '';
  }
}

const confirm = (app: TestApp, token: unknown, more: object = {}, headers: Record<string, string> = {}) =>
  app.post('/auth/login-link/confirm', { token, ...more }, headers);

const entities = [Account, Role, Session, TwoFactor, Passkey];

forEachDatabase(t, { entities }, async (t, orm) => {
  const app = await startApp(t, orm, {
    sessions: Session,
    twoFactor: TwoFactor,
    passwords: {},
    loginLink: { url: URL_WITH_TOKEN },
  });

  t.test('a link logs in like a password, once', async (t) => {
    await app.addAccount('ann@example.com');
    const token = await tokenFor(app, ' Ann@Example.com');
    t.notMatch(token, /ann/i);
    const answer = await confirm(app, token, { refresh: 'body' });
    t.match(answer, { status: 200, body: { access_token: String, refresh_token: String } });
    t.equal((await app.get('/me', answer.body['access_token'] as never as string)).status, 200);
    t.ok((await app.stored('ann@example.com'))?.last_login);
    const again = await confirm(app, token);
    t.match(again, { status: 401, body: { error: /used/ } });
    t.match(again.headers.get('www-authenticate'), /Bearer/);
    const cookie = await confirm(app, await tokenFor(app, 'ann@example.com'));
    t.match(cookie.headers.getSetCookie().join(), /refresh_token=.*HttpOnly/);
  });

  t.test('scanners that open a link by GET or HEAD do not use it up', async (t) => {
    await app.addAccount('scanned@example.com');
    const token = await tokenFor(app, 'scanned@example.com');
    for (const path of ['/auth/login-link/confirm', '/auth/login-link']) {
      for (const method of ['GET', 'HEAD']) {
        const answer = await app.request(method, `${path}?token=${encodeURIComponent(token)}`);
        t.equal(answer.status, 405, `${method} ${path}`);
      }
    }
    t.equal((await confirm(app, token)).status, 200);
  });

  t.test('of many concurrent confirmations one logs in', async (t) => {
    await app.addAccount('many@example.com');
    const token = await tokenFor(app, 'many@example.com');
    const answers = await Promise.all(Array.from({ length: 6 }, () => confirm(app, token)));
    t.strictSame(statuses(answers), [200, 401, 401, 401, 401, 401]);
  });

  t.test('the response is the same for every address, and only active accounts get a mail', async (t) => {
    await app.addAccount('known@example.com');
    await app.addAccount('off@example.com', { is_active: false });
    const from = app.mailer.mails.length;
    const answers: Answer[] = [];
    for (const email of ['known@example.com', 'off@example.com', 'nobody@example.com']) {
      answers.push(await app.post('/auth/login-link', { email }));
    }
    t.equal(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size, 1);
    await app.mail(from);
    t.strictSame(
      app.mailer.mails.slice(from).map(({ recipient }) => recipient),
      ['known@example.com'],
    );
    for (const email of ['known@example.com', 'nobody@example.com']) {
      for (let send = 0; send < 4; send++) await app.post('/auth/login-link', { email });
      t.equal((await app.post('/auth/login-link', { email })).status, 429, email);
    }
    t.match(await app.post('/auth/login-link', { email: 'x' }), {
      status: 400,
      body: { details: [{ path: '/email' }] },
    });
  });

  t.test('a newer link replaces an older one', async (t) => {
    await app.addAccount('two@example.com');
    const [old, newer] = [await tokenFor(app, 'two@example.com'), await tokenFor(app, 'two@example.com')];
    t.equal((await confirm(app, old)).status, 401);
    t.equal((await confirm(app, newer)).status, 200);
  });

  t.test('invented tokens are rejected with one response, and do not count for an address', async (t) => {
    await app.addAccount('guessed@example.com');
    const token = await tokenFor(app, 'guessed@example.com');
    const swapped = (token.startsWith('A') ? 'B' : 'A') + token.slice(1);
    const texts = new Set<string>();
    for (let guess = 0; guess < 12; guess++) {
      for (const wrong of [swapped, 'x', `${token}${token}`, token.toLowerCase()]) {
        const answer = await confirm(app, wrong);
        t.equal(answer.status, 401);
        texts.add(answer.text);
      }
    }
    t.equal(texts.size, 1);
    for (const token of [undefined, null, '', 7, '\0', 'x'.repeat(1025)]) {
      t.match(await confirm(app, token), { status: 400, body: { details: [{ path: '/token' }] } });
    }
    t.equal((await confirm(app, token)).status, 200, 'the link still works');
  });

  t.test('a second factor is still needed', async (t) => {
    const account = await app.addAccount('two-factors@example.com');
    const em = orm.em.fork();
    const factor = { account: account.id as never, secret: 'x', recovery_codes: '', confirmed_at: new Date() };
    await em.persist(em.create(TwoFactor, factor)).flush();
    const answer = await confirm(app, await tokenFor(app, 'two-factors@example.com'));
    t.match(answer, { status: 200, body: { two_factor_token: String, access_token: undefined } });
    t.strictSame(answer.headers.getSetCookie(), []);
    const count = await orm.em.fork().count(Session, { account: { id: account.id } });
    t.equal(count, 0, 'there is no session yet');
  });

  t.test('a disabled or deleted account, and an address that moved, void the link', async (t) => {
    const change = async (email: string, data: object): Promise<void> => {
      await orm.em.fork().nativeUpdate(Account, { email }, data);
    };
    await app.addAccount('leaves@example.com');
    const disabled = await tokenFor(app, 'leaves@example.com');
    await change('leaves@example.com', { is_active: false });
    t.match(await confirm(app, disabled), { status: 401, body: { error: /disabled/ } });
    await change('leaves@example.com', { is_active: true });
    await change('leaves@example.com', { email: 'left@example.com' });
    t.equal((await confirm(app, disabled)).status, 401, 'nobody has the address');
    await app.addAccount('leaves@example.com');
    t.match(await confirm(app, disabled), { status: 401, body: { error: /expired/ } }, 'another account has it');
  });

  t.test('a new password and a logout everywhere void the link', async (t) => {
    await app.addAccount('changed@example.com');
    const access = await app.login('changed@example.com');
    const by = { authorization: `Bearer ${access}` };
    const first = await tokenFor(app, 'changed@example.com');
    const passwords = { current_password: PASSWORD, new_password: 'battery staple' };
    t.equal((await app.post('/auth/change-password', passwords, by)).status, 204);
    t.equal((await confirm(app, first)).status, 401);
    const second = await tokenFor(app, 'changed@example.com');
    t.equal((await app.post('/auth/logout-all', {}, by)).status, 204);
    t.equal((await confirm(app, second)).status, 401);
  });

  t.test('a code for another purpose is not a link, and a link is not a code', async (t) => {
    await app.addAccount('purpose@example.com');
    const token = await tokenFor(app, 'purpose@example.com');
    const code = await app.code('purpose@example.com');
    t.equal((await confirm(app, code)).status, 401);
    const body = { email: 'purpose@example.com', code: token, new_password: 'battery staple' };
    t.equal((await app.post('/auth/reset-password', body)).status, 400);
    t.equal((await confirm(app, token)).status, 200);
  });

  t.test('a form of another site cannot confirm', async (t) => {
    await app.addAccount('form@example.com');
    const token = await tokenFor(app, 'form@example.com');
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await app.request('POST', '/auth/login-link/confirm', { body: `token=${token}`, headers });
    t.equal(answer.status, 415);
    t.equal((await confirm(app, token)).status, 200);
  });
});

t.test('other texts, a mailer that fails, a new secret, and several processes', async (t) => {
  const orm = await openSqlite(t, { entities });
  const store = new MemoryStore();
  t.teardown(() => store.close());
  const email = (link: string, minutes: number) => ({ subject: 'Lien', content: `${link} ${minutes}` });
  const loginLink = { url: URL_WITH_TOKEN, email };
  const app = await startApp(t, orm, { store, loginLink });
  const next = await startApp(t, orm, { store, loginLink, secret: ['another secret of at least 32 bytes', SECRET] });
  await app.addAccount('ann@example.com');
  const token = await tokenFor(app, 'ann@example.com');
  t.match(app.mailer.mails.at(-1), { subject: 'Lien', content: /#token=\S+ 10$/ });
  t.match(await confirm(next, token), { status: 200, body: { access_token: String } });
  t.equal((await confirm(app, token)).status, 401, 'used in another process');

  app.mailer.failure = new Error('down');
  t.equal((await app.post('/auth/login-link', { email: 'ann@example.com' })).status, 200);
  for (let wait = 0; app.mailer.failed === 0 && wait < 500; wait++) await new Promise((done) => setTimeout(done, 10));
  t.equal(app.mailer.failed, 1);
});

t.test('the last way to log in may go if a link logs in', async (t) => {
  const orm = await openSqlite(t, { entities });
  const passkeys = { entity: Passkey, rpId: 'example.com' };
  const options = { sessions: Session, passkeys, loginLink: { url: URL_WITH_TOKEN } };
  const routes = ['login-link', 'passkeys', 'login-passkey'] as const;
  const app = await startApp(t, orm, { ...options, routes });
  const account = await app.addAccount('ann@example.com');
  const em = orm.em.fork();
  const id = crypto.randomUUID();
  const times = { created_at: new Date() };
  const credential = { credential_id: 'x', public_key: 'x', counter: 0, ...times };
  await em.persist(em.create(Passkey, { id, account: account.id as never, name: 'Phone', ...credential })).flush();
  const { access_token } = (await confirm(app, await tokenFor(app, 'ann@example.com'))).body as never;
  const headers = { authorization: `Bearer ${String(access_token)}` };
  const body = { password: PASSWORD };
  const answer = await app.request('DELETE', `/auth/passkeys/${id}`, { headers, json: body });
  t.equal(answer.status, 204);
});

t.test('wrong options fail at start', async (t) => {
  const orm = await openSqlite(t, { entities });
  for (const url of [
    undefined,
    7,
    '',
    'https://shop.example.com/',
    '/login#{token}',
    'https://{token}.example.com/',
    'https://shop.example.com{token}',
    'ftp://shop.example.com/{token}',
    'https://shop.example.com/{token}/{token}',
  ]) {
    const loginLink = { url } as never;
    await t.rejects(startApp(t, orm, { loginLink }), { message: /option "loginLink".*"url".*\{token\}/ }, String(url));
  }
  const wrong = { url: URL_WITH_TOKEN, email: 'x' } as never;
  await t.rejects(startApp(t, orm, { loginLink: wrong }), { message: /"email" must be a function/ });
  await t.rejects(startApp(t, orm, { loginLink: { url: URL_WITH_TOKEN, minutes: 5 } as never }), {
    message: /minutes/,
  });
  await t.rejects(startApp(t, orm, { routes: ['login-link'] }), { message: /needs the option "loginLink"/ });
  await t.rejects(
    startApp(t, orm, { mailer: undefined as never, loginLink: { url: URL_WITH_TOKEN }, routes: ['login-link'] }),
    {
      message: /which the route "login-link" needs/,
    },
  );
});
