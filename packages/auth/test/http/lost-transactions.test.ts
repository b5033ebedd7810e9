/** Writes of the plugin that PostgreSQL ends for the sake of others are repeated, and have their effects once. */
import t from 'tap';
import { forEachDatabase } from '../../../core/test/support/databases.ts';
import { type Answer, PASSWORD, startApp } from '../support/app.ts';
import { Authenticator } from '../support/authenticator.ts';
import { Browser } from '../support/browser.ts';
import { Account, ApiKey, Passkey, Role, Session, TwoFactor } from '../support/entities.ts';
import { codeOf } from '../support/totp-code.ts';

const entities = [Account, Role, Session, TwoFactor, ApiKey, Passkey];
const TABLES = ['account', 'session', 'two_factor', 'api_key', 'passkey'];
const ORIGIN = 'https://example.com';

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly two_factor_token: string;
}

forEachDatabase(t, { entities, only: ['postgresql'] }, async (t, orm) => {
  const execute = (sql: string): Promise<{ name: string }[]> => orm.em.getConnection().execute(sql);
  // A sequence is not rolled back. So of each table, the first COMMIT of a change fails, and the next one succeeds.
  await execute(`create function lose() returns trigger language plpgsql as $$
    begin
      if nextval(tg_argv[0]::regclass) = 1 then raise exception 'lost' using errcode = '40001'; end if;
      return null;
    end $$`);
  for (const table of TABLES) {
    await execute(`create sequence lost_${table}`);
    await execute(`select setval('lost_${table}', 1)`);
    await execute(`create constraint trigger lose after insert or update or delete on ${table}
      deferrable initially deferred for each row execute function lose('lost_${table}')`);
  }

  const events: string[] = [];
  const passkeys = { entity: Passkey, rpName: 'The Library', rpId: 'example.com' };
  const options = { sessions: Session, twoFactor: TwoFactor, apiKeys: ApiKey, passkeys, passwords: {}, me: {} };
  const app = await startApp(t, orm, options, ({ log }) => {
    const note = ({ event }: { event?: string }): void => void (event !== undefined && events.push(event));
    log.info = note;
    log.warn = note;
  });
  await app.addRole('user');

  /** Sends a request whose first COMMIT of each table is lost. Returns it with its events and the tables concerned. */
  const losing = async (send: () => Promise<Answer>) => {
    for (const table of TABLES) await execute(`select setval('lost_${table}', 1, false)`);
    const [first, sent] = [events.length, app.mailer.mails.length];
    const response = await send();
    const lost: string[] = [];
    for (const table of TABLES) {
      const [sequence] = await execute(`select '${table}' as name from lost_${table} where is_called`);
      if (sequence !== undefined) lost.push(sequence.name);
      await execute(`select setval('lost_${table}', 1)`);
    }
    return { response, lost, events: events.slice(first), mails: app.mailer.mails.slice(sent) };
  };
  const by = (token: string) => ({ authorization: `Bearer ${token}` });
  const login = (email: string, password = PASSWORD) => app.post('/auth/login', { email, password, refresh: 'body' });
  const loggedIn = async (email: string) => (await login(email)).body as unknown as Tokens;
  const sessions = () => orm.em.fork().count(Session);

  await t.test('registration', async (t) => {
    const email = 'new@example.com';
    const code = await app.code(email);
    const body = { email, password: PASSWORD, name: 'Ann', code };
    const done = await losing(() => app.post('/auth/register', body));
    t.match(done, { response: { status: 201 }, lost: ['account'], events: ['auth.registered'] });
    t.equal(await orm.em.fork().count(Account, { email }), 1);
    t.equal((await app.post('/auth/register', body)).status, 400, 'the code is used up');
  });

  await t.test('login, refresh and logout', async (t) => {
    const email = 'ann@example.com';
    await app.addAccount(email);
    const before = await sessions();
    const done = await losing(() => login(email));
    t.match(done, { response: { status: 200 }, lost: ['account', 'session'] }, done.response.text);
    t.strictSame(done.events, ['auth.login']);
    t.equal(await sessions(), before + 1);
    const { refresh_token, access_token } = done.response.body as unknown as Tokens;
    const refreshed = await losing(() => app.post('/auth/refresh', { refresh_token }));
    t.match(refreshed, { response: { status: 200 }, lost: ['session'], events: [] });
    const ended = await losing(() => app.request('POST', '/auth/logout', { headers: by(access_token) }));
    t.match(ended, { response: { status: 204 }, lost: ['session'] });
    t.equal(ended.events.length, 1);
    t.equal(await sessions(), before);
    const again = await loggedIn(email);
    await login(email);
    const all = await losing(() => app.request('POST', '/auth/logout-all', { headers: by(again.access_token) }));
    t.match(all, { response: { status: 204 }, lost: ['session'] }, all.response.text);
    t.equal(all.events.length, 1);
    t.equal(await sessions(), before);
  });

  await t.test('passwords and addresses', async (t) => {
    const email = 'bob@example.com';
    const changed = 'another correct horse';
    await app.addAccount(email);
    const { access_token } = await loggedIn(email);
    await login(email);
    const passwords = { current_password: PASSWORD, new_password: changed };
    const done = await losing(() => app.post('/auth/change-password', passwords, by(access_token)));
    t.match(done, { response: { status: 204 }, lost: ['account', 'session'] }, done.response.text);
    t.strictSame(done.events, ['auth.password_changed']);

    let sent = app.mailer.mails.length;
    await app.post('/auth/forgot-password', { email });
    const code = await app.sentCode(sent, email);
    const reset = { email, code, new_password: PASSWORD };
    const isReset = await losing(() => app.post('/auth/reset-password', reset));
    t.match(isReset, { response: { status: 204 }, lost: ['account', 'session'] }, isReset.response.text);
    t.strictSame(isReset.events, ['auth.password_reset']);
    t.equal((await app.post('/auth/reset-password', reset)).status, 400, 'the code is used up');

    const { access_token: token } = await loggedIn(email);
    sent = app.mailer.mails.length;
    const new_email = 'robert@example.com';
    const asked = await app.post('/auth/change-email', { new_email, password: PASSWORD }, by(token));
    t.equal(asked.status, 200, asked.text);
    const confirm = { code: await app.sentCode(sent, new_email) };
    const moved = await losing(() => app.post('/auth/confirm-email', confirm, by(token)));
    t.match(moved, { response: { status: 200 }, lost: ['account'] }, moved.response.text);
    t.strictSame(moved.events, ['auth.email_changed']);
    t.ok(await app.stored(new_email));
  });

  await t.test('two factors and API keys', async (t) => {
    const email = 'cid@example.com';
    const { id } = await app.addAccount(email);
    const { access_token: token } = await loggedIn(email);
    const begun = await losing(() => app.request('POST', '/auth/two-factor', { headers: by(token) }));
    t.match(begun, { response: { status: 200 }, lost: ['two_factor'] }, begun.response.text);
    const { secret } = begun.response.body as unknown as { secret: string };
    const confirm = () => app.post('/auth/two-factor/confirm', { code: codeOf(secret) }, by(token));
    const confirmed = await losing(confirm);
    t.match(confirmed, { response: { status: 200 }, lost: ['two_factor'] }, confirmed.response.text);
    t.equal(confirmed.events.length, 1);
    const { recovery_codes } = confirmed.response.body as unknown as { recovery_codes: string[] };
    const second = async () => {
      const { two_factor_token } = (await login(email)).body as unknown as Tokens;
      return app.post('/auth/login/two-factor', { two_factor_token, code: recovery_codes[0] });
    };
    const done = await losing(second);
    t.match(done, { response: { status: 200 }, lost: ['account', 'session', 'two_factor'] }, done.response.text);
    t.equal(done.events.filter((event) => event === 'auth.login').length, 1);
    t.equal((await second()).status, 401, 'the recovery code is used up');

    const made = await losing(() => app.post('/auth/api-keys', { name: 'backup' }, by(token)));
    t.match(made, { response: { status: 201 }, lost: ['api_key'] }, made.response.text);
    t.equal(await orm.em.fork().count(ApiKey, { account: id }), 1);
    const key = made.response.body as unknown as { id: string; key: string };
    t.match(await losing(() => app.get('/me', key.key)), { response: { status: 200 }, lost: ['api_key'], events: [] });
    const [used] = await orm.em.fork().find(ApiKey, { account: id });
    t.ok(used?.last_used_at);
    const revoked = await losing(() => app.request('DELETE', `/auth/api-keys/${key.id}`, { headers: by(token) }));
    t.match(revoked, { response: { status: 204 }, lost: ['api_key'] });
    t.equal(revoked.events.length, 1);
  });

  await t.test('passkeys', async (t) => {
    const email = 'dora@example.com';
    const { id } = await app.addAccount(email);
    const { access_token: token } = await loggedIn(email);
    const key = new Authenticator(ORIGIN);
    const { body } = await app.post('/auth/passkeys/options', { password: PASSWORD }, by(token));
    const passkey = key.create(body as never);
    const added = await losing(() => app.post('/auth/passkeys', { name: 'Phone', passkey }, by(token)));
    t.match(added, { response: { status: 201 }, lost: ['passkey'] }, added.response.text);
    t.equal(added.events.length, 1);
    t.equal(await orm.em.fork().count(Passkey, { account: id }), 1);
    const browser = new Browser(app);
    const offered = await browser.send('POST', '/auth/login/passkey/options');
    const proof = { passkey: key.get(offered.body as never) };
    const done = await losing(() => browser.send('POST', '/auth/login/passkey', proof));
    t.match(done, { response: { status: 200 }, lost: ['account', 'session', 'passkey'] }, done.response.text);
    t.strictSame(done.events, ['auth.login']);
  });

  await t.test('simultaneous requests of one account in serializable transactions', async (t) => {
    for (const table of TABLES) await execute(`drop trigger lose on ${table}`);
    await execute(
      `alter database "${String(orm.config.get('dbName'))}" set default_transaction_isolation = serializable`,
    );
    await orm.reconnect();
    const email = 'eve@example.com';
    const { id } = await app.addAccount(email);
    const before = events.length;
    const logins = await Promise.all(Array.from({ length: 20 }, () => login(email)));
    t.strictSame(new Set(logins.map(({ status }) => status)), new Set([200]));
    t.strictSame(events.slice(before), Array(20).fill('auth.login'));
    t.equal(await orm.em.fork().count(Session, { account: id }), 20);
    const tokens = logins.map(({ body }) => body as unknown as Tokens);
    const refreshes = tokens.flatMap(({ refresh_token }) => [1, 2].map(() => refresh_token));
    const refreshed = await Promise.all(refreshes.map((refresh_token) => app.post('/auth/refresh', { refresh_token })));
    t.strictSame(new Set(refreshed.map(({ status }) => status)), new Set([200]));
    const people = Array.from({ length: 5 }, (_, place) => `eve${place}@example.com`);
    const bodies: object[] = [];
    for (const person of people) {
      bodies.push({ email: person, password: PASSWORD, name: 'Eve', code: await app.code(person) });
    }
    const registered = await Promise.all(bodies.map((body) => app.post('/auth/register', body)));
    t.strictSame(new Set(registered.map(({ status }) => status)), new Set([201]));
  });
});
