/** Passwords and sessions together: which sessions a change ends, and what users of a session show. */
import { defineEntity, p } from '@mikro-orm/core';
import { readShape } from '@viewset/core';
import bcrypt from '@node-rs/bcrypt';
import t from 'tap';
import { forEachDatabase } from '../../../core/test/support/databases.ts';
import type { AuthOptions } from '../../src/index.ts';
import { PASSWORD, startApp } from '../support/app.ts';
import { Browser } from '../support/browser.ts';
import { Role } from '../support/entities.ts';

const Branch = defineEntity({
  name: 'Branch',
  properties: { id: p.integer().primary(), name: p.string().length(50) },
});
const Account = defineEntity({
  name: 'Account',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(100),
    email: p.string().length(255).unique(),
    password: p.string().length(255).hidden(),
    role: () => p.manyToOne(Role).nullable(),
    enabled: p.boolean().default(true),
    last_login: p.datetime(3).nullable(),
    card: p.string().length(10).nullable(),
    branch: () => p.manyToOne(Branch).nullable(),
  },
});
const Session = defineEntity({
  name: 'Session',
  properties: {
    id: p.uuid().primary(),
    account: () => p.manyToOne(Account).deleteRule('cascade'),
    token_hash: p.string().length(43),
    created_at: p.datetime(3),
    last_used_at: p.datetime(3),
    expires_at: p.datetime(3).index(),
    ip: p.string().length(45),
    user_agent: p.string().length(255).nullable(),
  },
});
const queries: string[] = [];
const logged = { debug: ['query'] as ['query'], colors: false, logger: (line: string) => void queries.push(line) };
const read = readShape(Account, ['id', 'card'], { branch: 'branch.name' });
const options: Partial<AuthOptions> = {
  account: Account,
  fields: { is_active: 'enabled' },
  sessions: Session,
  passwords: {},
  me: { read },
};
const NEW = 'battery staple';

forEachDatabase(t, { entities: [Account, Role, Branch, Session], orm: logged }, async (t, orm) => {
  const app = await startApp(t, orm, options);
  const pausing = await startApp(t, orm, options, (server) => {
    server.post<{ Body: { email: string } }>('/slow-login', { config: { public: true } }, async (request, reply) => {
      const account = await server.auth.verifyLogin(request, request.body.email, PASSWORD);
      await meanwhile();
      return server.auth.completeLogin(request, reply, account);
    });
  });
  let meanwhile = async (): Promise<unknown> => undefined;
  const browsersOf = async (email: string, number: number): Promise<Browser[]> => {
    const browsers = Array.from({ length: number }, () => new Browser(app));
    for (const browser of browsers) await browser.login(email);
    return browsers;
  };
  const statuses = async (browsers: Browser[]): Promise<number[]> => {
    const answers = await Promise.all(browsers.map((browser) => browser.send('GET', '/auth/me')));
    return answers.map(({ status }) => status);
  };

  t.test('a changed password ends all other sessions', async (t) => {
    await app.addAccount('ann@example.com');
    const [mine, ...others] = await browsersOf('ann@example.com', 3);
    const body = { current_password: PASSWORD, new_password: NEW };
    t.equal((await mine!.send('POST', '/auth/change-password', body)).status, 204);
    t.strictSame(await statuses([mine!, ...others]), [200, 401, 401]);
    t.equal((await others[0]!.send('POST', '/auth/refresh')).status, 401);
    t.equal((await mine!.send('POST', '/auth/refresh')).status, 200);
  });

  t.test('a password that was reset ends every session', async (t) => {
    await app.addAccount('bob@example.com');
    const browsers = await browsersOf('bob@example.com', 2);
    const from = app.mailer.mails.length;
    await app.post('/auth/forgot-password', { email: 'bob@example.com' });
    const code = await app.sentCode(from, 'bob@example.com');
    const body = { email: 'bob@example.com', code, new_password: NEW };
    t.equal((await app.post('/auth/reset-password', body)).status, 204);
    t.strictSame(await statuses(browsers), [401, 401]);
    t.equal((await browsers[0]!.send('POST', '/auth/refresh')).status, 401);
  });

  t.test('a login with the old password that is under way begins no session', async (t) => {
    const { id } = await app.addAccount('late@example.com');
    const [mine] = await browsersOf('late@example.com', 1);
    const change = { current_password: PASSWORD, new_password: NEW };
    meanwhile = () => mine!.send('POST', '/auth/change-password', change);
    const answer = await pausing.post('/slow-login', { email: 'late@example.com' });
    t.match(answer, { status: 401, body: { error: 'The e-mail address or the password is not correct' } });
    t.equal(await orm.em.fork().count(Session, { account: id }), 1, 'that of the change');
  });

  t.test('logins at once that renew one hash all succeed', async (t) => {
    await app.addAccount('old@example.com');
    await orm.em
      .fork()
      .nativeUpdate(
        Account,
        { email: 'old@example.com' },
        { password: await bcrypt.hash('æøå æøå'.normalize('NFD'), 4) },
      );
    const login = { email: 'old@example.com', password: 'æøå æøå'.normalize('NFD') };
    const answers = await Promise.all(Array.from({ length: 6 }, () => app.post('/auth/login', login)));
    t.strictSame(new Set(answers.map(({ status }) => status)), new Set([200]));
  });

  t.test('a deleted account has no session, and the cookie is taken back', async (t) => {
    await app.addAccount('cid@example.com');
    const [mine, other] = await browsersOf('cid@example.com', 2);
    const answer = await mine!.send('DELETE', '/auth/me', { password: PASSWORD });
    t.equal(answer.status, 204);
    t.match(answer.headers.getSetCookie(), [/^refresh_token=;.*Max-Age=0/]);
    t.strictSame(await statuses([mine!, other!]), [401, 401]);
  });

  t.test('a failed change ends no session', async (t) => {
    await app.addAccount('dee@example.com');
    const browsers = await browsersOf('dee@example.com', 2);
    const body = { current_password: 'wrong', new_password: NEW };
    t.equal((await browsers[0]!.send('POST', '/auth/change-password', body)).status, 400);
    t.strictSame(await statuses(browsers), [200, 200]);
  });

  t.test('a known device can change the password while unknown devices have caused a hold', async (t) => {
    await app.addAccount('eve@example.com');
    const [mine] = await browsersOf('eve@example.com', 1);
    for (let round = 0; round < 10; round++) {
      await app.post('/auth/login', { email: 'eve@example.com', password: 'wrong' });
    }
    t.equal((await app.post('/auth/login', { email: 'eve@example.com', password: PASSWORD })).status, 429);
    const body = { current_password: PASSWORD, new_password: NEW };
    t.equal((await mine!.send('POST', '/auth/change-password', body)).status, 204);
    const from = app.mailer.mails.length;
    await mine!.send('POST', '/auth/change-email', { new_email: 'eva@example.com', password: NEW });
    const code = /\b\d{6}\b/.exec((await app.mail(from)).content)![0];
    t.equal((await mine!.send('POST', '/auth/confirm-email', { code })).status, 200);
    for (let round = 0; round < 10; round++) {
      await app.post('/auth/login', { email: 'eva@example.com', password: 'wrong' });
    }
    const login = { email: 'eva@example.com', password: NEW };
    t.equal((await mine!.send('POST', '/auth/login', login)).status, 200, 'it knows the new address too');
  });

  t.test('one query loads the session with the account, and the user has the read shape', async (t) => {
    const account = await app.addAccount('fay@example.com');
    const em = orm.em.fork();
    const branch = em.create(Branch, { name: 'Harbour' });
    await em.persist(branch).flush();
    await em.nativeUpdate(Account, { id: account.id }, { card: 'F-1', branch: branch.id });
    const [mine] = await browsersOf('fay@example.com', 1);
    queries.length = 0;
    const { body } = await mine!.send('GET', '/me');
    t.match(body, { user: { email: 'fay@example.com', is_active: true, role: null, card: 'F-1', branch: 'Harbour' } });
    t.equal(queries.length, 1, queries.join('\n'));
    await orm.em.fork().nativeUpdate(Account, { id: account.id }, { enabled: false });
    t.equal((await mine!.send('GET', '/me')).status, 401);
  });
});
