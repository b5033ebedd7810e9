/** What a thief could leave behind, and what a new password, a reset and a logout everywhere do to it: the table of docs/security.md. */
import { readFileSync } from 'node:fs';
import { MemoryStore } from '@viewset/core';
import t from 'tap';
import { forEachDatabase } from '../../../core/test/support/databases.ts';
import { PASSWORD, startApp } from '../support/app.ts';
import { Account, ApiKey, Identity, Passkey, Role, Session, TwoFactor } from '../support/entities.ts';
import { codeOf } from '../support/totp-code.ts';

const KINDS = {
  'the session of the request': 'current',
  'other sessions': 'sessions',
  'API keys': 'api_keys',
  passkeys: 'passkeys',
  'second factor': 'two_factor',
  'linked services': 'services',
  'a link to log in': 'login_link',
  'a login that waits for its second factor': 'waiting_login',
} as const;
type Kind = (typeof KINDS)[keyof typeof KINDS];
const COLUMNS = ['change-password', 'reset-password', 'logout-all'] as const;

/** The cells of the table: `ends`, `stays`, or `revoke`, which stays unless the body names it. */
function tableOfPage(): { kind: Kind; route: (typeof COLUMNS)[number]; cell: string }[] {
  const page = readFileSync(new URL('../../../../docs/security.md', import.meta.url), 'utf8');
  return Object.entries(KINDS).flatMap(([name, kind]) => {
    const row = page.split('\n').find((line) => line.startsWith(`| ${name} |`)) ?? '';
    const cells = row.split('|').slice(2, 5);
    return COLUMNS.map((route, index) => ({ kind, route, cell: cells[index]?.trim() ?? '' }));
  });
}

forEachDatabase(t, { entities: [Account, Role, Session, ApiKey, TwoFactor, Passkey, Identity] }, async (t, orm) => {
  const store = new MemoryStore();
  t.teardown(() => store.close());
  const providers = { main: { issuer: 'https://id.example.com', clientId: 'x', clientSecret: 'y' } };
  const app = await startApp(t, orm, {
    sessions: Session,
    apiKeys: ApiKey,
    twoFactor: TwoFactor,
    passkeys: { entity: Passkey, rpId: 'example.com' },
    oauth: { identity: Identity, providers },
    passwords: {},
    loginLink: { url: 'https://shop.example.com/#{token}' },
    me: {},
    store,
  });
  const entities = { api_keys: ApiKey, passkeys: Passkey, services: Identity, two_factor: TwoFactor } as const;
  let accounts = 0;

  /** An account with everything that gives access, and what is left of it. */
  const setUp = async () => {
    const email = `ann${++accounts}@example.com`;
    const { id } = await app.addAccount(email);
    const [own, other] = [await app.login(email), await app.login(email)];
    const by = { authorization: `Bearer ${own}` };
    const { key } = (await app.post('/auth/api-keys', { name: 'Nightly\nimport' }, by)).body as { key?: string };
    const em = orm.em.fork();
    const account = id as never;
    const now = new Date();
    em.create(Identity, { account, provider: 'main', subject: email });
    const credential = { credential_id: email, public_key: 'x', counter: 0, created_at: now };
    em.create(Passkey, { id: crypto.randomUUID(), account, name: 'Phone', ...credential });
    await em.flush();
    const { secret } = (await app.post('/auth/two-factor', {}, by)).body as { secret?: string };
    const confirmed = await app.post('/auth/two-factor/confirm', { code: codeOf(secret ?? '') }, by);
    const [code] = confirmed.body['recovery_codes'] as unknown as string[];
    const { two_factor_token } = (await app.post('/auth/login', { email, password: PASSWORD })).body;
    const from = app.mailer.mails.length;
    await app.post('/auth/login-link', { email });
    const link = /#(\S+)/.exec((await app.mail(from)).content)?.[1];
    // A link and a login that waits work once, so trying them would end them.
    let isTried = false;
    const left = async (): Promise<Record<Kind, boolean>> => {
      const count = async (kind: keyof typeof entities): Promise<boolean> =>
        (await orm.em.fork().count(entities[kind] as typeof ApiKey, { account })) > 0;
      return {
        current: (await app.get('/me', own)).status === 200,
        sessions: (await app.get('/me', other)).status === 200,
        api_keys: (await count('api_keys')) && (await app.get('/me', key)).status === 200,
        passkeys: await count('passkeys'),
        two_factor: await count('two_factor'),
        services: await count('services'),
        login_link: !isTried || (await app.post('/auth/login-link/confirm', { token: link })).status === 200,
        waiting_login:
          !isTried || (await app.post('/auth/login/two-factor', { two_factor_token, code })).status === 200,
      };
    };
    const call = async (route: (typeof COLUMNS)[number], revoke?: readonly string[]): Promise<void> => {
      const more = revoke === undefined ? {} : { revoke };
      const from = app.mailer.mails.length;
      isTried = true;
      if (route === 'change-password') {
        const body = { current_password: PASSWORD, new_password: 'battery staple', ...more };
        t.equal((await app.post('/auth/change-password', body, by)).status, 204);
      } else if (route === 'reset-password') {
        await app.post('/auth/forgot-password', { email });
        const code = await app.sentCode(from, email);
        const body = { email, code, new_password: 'battery staple', ...more };
        t.equal((await app.post('/auth/reset-password', body)).status, 204);
      } else {
        t.equal((await app.post('/auth/logout-all', {}, by)).status, 204);
      }
    };
    return { email, by, left, call };
  };

  const table = tableOfPage();
  for (const route of COLUMNS) {
    t.test(`${route}, cell by cell`, async (t) => {
      const cells = table.filter((each) => each.route === route);
      t.equal(cells.length, 8);
      const { left, call } = await setUp();
      t.strictSame(Object.values(await left()), Array(8).fill(true), 'all is there before');
      await call(route);
      const after = await left();
      for (const { kind, cell } of cells) {
        t.match(cell, /^(?:ends|end|stays|stay|stay; `revoke` ends them)$/, kind);
        t.equal(after[kind], cell.startsWith('stay'), `${kind}: ${cell}`);
      }
      const revocable = cells.filter(({ cell }) => cell.includes('revoke')).map(({ kind }) => kind);
      if (revocable.length === 0) return;
      t.strictSame(revocable, ['api_keys', 'passkeys', 'services']);
      for (const kind of revocable) {
        const one = await setUp();
        await one.call(route, [kind]);
        const rest = await one.left();
        for (const each of revocable) t.equal(rest[each], each !== kind, `revoke ${kind}: ${each}`);
        t.ok(rest.two_factor);
      }
    });
  }

  t.test('the notice of a new password lists the remaining access', async (t) => {
    const { email, call } = await setUp();
    const from = app.mailer.mails.length;
    await call('change-password');
    const { recipient, content } = await app.mail(from);
    t.equal(recipient, email);
    t.match(content, /- API keys: Nightly import\n- passkeys: Phone\n- other services: main\n- second factor: on\n/);
    const other = await setUp();
    await other.call('change-password', ['api_keys', 'passkeys', 'services']);
    t.notMatch((await app.mail(from + 1)).content, /API keys|passkeys|services/);
    for (const revoke of ['api_keys', ['two_factor'], ['x'], 5]) {
      const body = { current_password: 'battery staple', new_password: PASSWORD, revoke };
      const answer = await app.post('/auth/change-password', body, other.by);
      t.match(answer, { status: 400, body: { details: [{ path: /^\/revoke/ }] } });
    }
  });

  t.test('a new password voids a change of address that an attacker has requested', async (t) => {
    const { by, call } = await setUp();
    const from = app.mailer.mails.length;
    await app.post('/auth/change-email', { new_email: `thief${accounts}@example.com`, password: PASSWORD }, by);
    const code = await app.sentCode(from, `thief${accounts}@example.com`);
    await call('change-password');
    t.equal((await app.post('/auth/confirm-email', { code }, by)).status, 400);
  });

  t.test('at most ten notices a day go to one address', async (t) => {
    const { email, by } = await setUp();
    const from = app.mailer.mails.length;
    for (let change = 0; change < 13; change++) {
      const body = { new_email: `new${accounts}-${change}@example.com`, password: PASSWORD };
      t.equal((await app.post('/auth/change-email', body, by)).status, 200);
    }
    await app.mail(from + 22);
    t.equal(app.mailer.mails.slice(from).filter(({ recipient }) => recipient === email).length, 10);
  });
});
