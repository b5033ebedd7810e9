/** Accounts that an administrator creates, and whose owner chooses the password. */
import { Router } from '@viewset/core';
import type { FastifyInstance } from 'fastify';
import t from 'tap';
import { forEachDatabase, openSqlite } from '../../../core/test/support/databases.ts';
import { AccountViewSet, HasPermission } from '../../src/index.ts';
import { PASSWORD, startApp } from '../support/app.ts';
import {
  Account as PlainAccount,
  InvitedAccount as Account,
  PermissionRole as Role,
  Role as PlainRole,
} from '../support/entities.ts';

const invitations = { url: 'https://shop.example.com/welcome#token={token}' };
const NEW = 'battery staple';

class Accounts extends AccountViewSet(Account, { invitations: true }) {}
class Managed extends AccountViewSet(Account, {
  invitations: true,
  permissionClasses: [HasPermission('accounts.invite')],
}) {}

function addRoutes(app: FastifyInstance): void {
  const router = new Router({ prefix: 'api' });
  router.register('accounts', Accounts);
  router.register('managed', Managed);
  void app.register(router.plugin);
}

const options = {
  account: Account,
  passwords: { commonPasswords: ['too common'] },
  invitations,
  loginLink: { url: 'https://shop.example.com/#{token}' },
  permissions: ['accounts.invite', 'products.write'],
};

interface Sent {
  readonly status: number;
  readonly body: { readonly id: number; readonly [name: string]: unknown };
}

forEachDatabase(t, { entities: [Account, Role] }, async (t, orm) => {
  const app = await startApp(t, orm, options, addRoutes);
  const em = orm.em.fork();
  const roles = { admin: [], user: [], inviter: ['accounts.invite'], seller: ['products.write'] };
  const [admin, , inviter] = Object.entries(roles).map(([name, permissions]) => em.create(Role, { name, permissions }));
  const ids = [admin, inviter].map((role, index) =>
    em.create(Account, { email: `boss${index}@example.com`, password: PASSWORD, name: 'Boss', role: role! }),
  );
  await em.flush();
  const boss = await app.login('boss0@example.com');
  const clerk = await app.login('boss1@example.com');
  const send = async (method: string, path: string, json?: unknown, token = boss): Promise<Sent> => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await app.request(method, `/api${path}`, { headers, ...(json !== undefined && { json }) });
    return { status: answer.status, body: answer.body as never };
  };
  const tokenOf = (place = -1): string => /#token=(\S+)/.exec(app.mailer.mails.at(place)?.content ?? '')?.[1] ?? '';
  const accept = (token: unknown, password: unknown = NEW) => app.post('/auth/accept-invitation', { token, password });
  const invite = async (email: string): Promise<{ id: number; token: string }> => {
    const { status, body } = await send('POST', '/accounts', { email, name: 'Ann' });
    if (status !== 201) throw new Error(JSON.stringify(body));
    return { id: body.id, token: tokenOf() };
  };
  const stored = (id: number) => orm.em.fork().findOneOrFail(Account, id, { populate: ['role'] });

  t.test('an invited person chooses the password, and then logs in', async (t) => {
    const made = await send('POST', '/accounts', { email: ' Ann@Example.com', name: 'Ann', role: 'seller' });
    t.match(made, {
      status: 201,
      body: { email: 'ann@example.com', name: 'Ann', role: 'seller', is_active: false, invited_until: String },
    });
    t.notOk('password' in made.body || 'invitation_hash' in made.body);
    const mail = app.mailer.mails.at(-1)!;
    t.match(mail, { recipient: 'ann@example.com', subject: 'You are invited' });
    const token = tokenOf();
    t.notMatch(token, /ann/i);
    t.notMatch(mail.content, (await stored(made.body.id)).invitation_hash!);
    t.match(await accept(token), { status: 200, body: { user: { id: made.body.id, email: 'ann@example.com' } } });
    t.match(await send('GET', `/accounts/${made.body.id}`), { body: { is_active: true, invited_until: null } });
    t.ok(await app.login('ann@example.com', NEW));
    t.match(await accept(token, 'another one'), { status: 400, body: { details: [{ path: '/token' }] } }, 'once');
    t.ok(await app.login('ann@example.com', NEW));
    t.match((await stored(made.body.id)).password, /^\$2b\$04\$/);
  });

  t.test('before that, no other way leads into the account', async (t) => {
    const { id, token } = await invite('early@example.com');
    const email = 'early@example.com';
    t.equal((await stored(id)).password, '!', 'there is no hash to guess');
    for (const password of ['!', '', PASSWORD]) {
      const answer = await app.post('/auth/login', { email, password });
      t.match(answer, { status: 401, body: { error: 'The e-mail address or the password is not correct' } });
    }
    const from = app.mailer.mails.length;
    t.equal((await app.post('/auth/forgot-password', { email })).status, 200);
    t.equal((await app.post('/auth/login-link', { email })).status, 200);
    const code = await app.code(email);
    t.equal(app.mailer.mails.length, from + 1, 'no mail leads in, only the code of a registration');
    const registration = await app.post('/auth/register', { email, name: 'Ann', password: NEW, code });
    t.match(registration, { status: 400, body: { details: [{ path: '/email' }] } });
    t.equal((await accept(token)).status, 200);
  });

  t.test('passwords have the usual rules, which use no link up', async (t) => {
    const { token } = await invite('rules@example.com');
    for (const password of ['short', 'x'.repeat(51), '🔑'.repeat(19), 7, null, 'TOO common']) {
      t.match(
        await accept(token, password),
        { status: 400, body: { details: [{ path: '/password' }] } },
        String(password),
      );
    }
    for (const wrong of [undefined, '', 7, 'x'.repeat(1025), 'x', `${token}x`, token.toLowerCase()]) {
      t.match(await accept(wrong), { status: 400, body: { details: [{ path: '/token' }] } });
    }
    t.equal((await app.request('GET', `/auth/accept-invitation?token=${token}`)).status, 405, 'a scanner');
    t.equal((await accept(token)).status, 200);
  });

  t.test('of many acceptances at once one counts', async (t) => {
    const { token } = await invite('many@example.com');
    const passwords = Array.from({ length: 5 }, (_, index) => `password ${index}`);
    const answers = await Promise.all(passwords.map((password) => accept(token, password)));
    t.strictSame(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 400, 400, 400, 400],
    );
    const winner = passwords[answers.findIndex(({ status }) => status === 200)]!;
    t.ok(await app.login('many@example.com', winner));
  });

  t.test('an address that is taken or invited gives 409, and a new invitation replaces the link', async (t) => {
    const { id, token } = await invite('twice@example.com');
    const from = app.mailer.mails.length;
    for (const email of ['twice@example.com', 'TWICE@example.com ', 'boss0@example.com']) {
      const answer = await send('POST', '/accounts', { email, name: 'Ann' });
      t.match(answer, { status: 409, body: { details: [{ path: '/email', message: 'is taken' }] } }, email);
    }
    t.equal(app.mailer.mails.length, from, 'without a mail');
    t.equal((await send('POST', `/accounts/${id}/invite`)).status, 204);
    t.equal((await accept(token)).status, 400, 'the earlier link');
    t.equal((await accept(tokenOf())).status, 200);
    t.equal((await send('POST', `/accounts/${id}/invite`)).status, 409, 'the account is in use');
    t.equal((await send('DELETE', `/accounts/${id}/invite`)).status, 409);
    t.equal((await send('POST', `/accounts/${ids[1]!.id}/invite`)).status, 409);
    t.equal((await send('POST', '/accounts/999999/invite')).status, 404);
  });

  t.test('a link expires, and can be revoked; both can be renewed', async (t) => {
    const { id, token } = await invite('late@example.com');
    await orm.em.fork().nativeUpdate(Account, { id }, { invited_until: new Date(Date.now() - 1) });
    t.equal((await accept(token)).status, 400);
    t.equal((await send('POST', `/accounts/${id}/invite`)).status, 204);
    const second = tokenOf();
    t.equal((await send('DELETE', `/accounts/${id}/invite`)).status, 204);
    t.match(await send('GET', `/accounts/${id}`), { body: { invited_until: null, is_active: false } });
    t.equal((await accept(second)).status, 400);
    t.equal((await send('POST', `/accounts/${id}/invite`)).status, 204);
    const third = tokenOf();
    t.equal((await send('DELETE', `/accounts/${id}`)).status, 204);
    t.equal((await accept(third)).status, 400, 'the account is gone');
  });

  t.test('another address, and an account that was enabled or disabled, void the link', async (t) => {
    const moved = await invite('moved@example.com');
    t.equal((await send('PATCH', `/accounts/${moved.id}`, { email: 'elsewhere@example.com' })).status, 200);
    t.equal((await accept(moved.token)).status, 400);
    t.equal((await send('POST', `/accounts/${moved.id}/invite`)).status, 204);
    t.equal(app.mailer.mails.at(-1)?.recipient, 'elsewhere@example.com');
    t.equal((await accept(tokenOf())).status, 200);
    t.equal((await send('PATCH', `/accounts/${moved.id}`, { is_active: false })).status, 200);
    t.equal((await send('POST', `/accounts/${moved.id}/invite`)).status, 409, 'a disabled account is no invitation');
    const enabled = await invite('enabled@example.com');
    const patched = await send('PATCH', `/accounts/${enabled.id}`, { is_active: true });
    t.match(patched, { status: 200, body: { invited_until: null } });
    t.equal((await accept(enabled.token)).status, 400);
  });

  t.test('a permission by name is enough, but chooses no role', async (t) => {
    const body = { email: 'clerk1@example.com', name: 'Ann' };
    t.match(await send('POST', '/managed', body, clerk), { status: 201, body: { role: 'user' } });
    for (const role of ['admin', 'seller', 'user', null]) {
      t.equal((await send('POST', '/managed', { ...body, email: 'c2@example.com', role }, clerk)).status, 403);
    }
    t.equal(await orm.em.fork().count(Account, { email: 'c2@example.com' }), 0);
    t.equal((await send('POST', '/accounts', body, clerk)).status, 403, 'administrators alone');
    const strong = await send('POST', '/accounts', { email: 'strong@example.com', name: 'Ann', role: 'admin' });
    for (const method of ['POST', 'DELETE']) {
      t.equal((await send(method, `/managed/${strong.body.id}/invite`, undefined, clerk)).status, 403);
    }
    t.equal((await accept(tokenOf())).status, 200);
    const user = await app.login('ann@example.com', NEW);
    t.equal((await send('POST', '/managed', body, user)).status, 403);
  });

  t.test('without its mail there is no account, and no other link', async (t) => {
    const { id, token } = await invite('kept@example.com');
    app.mailer.failure = new Error('down');
    t.equal((await send('POST', '/accounts', { email: 'lost@example.com', name: 'Ann' })).status, 503);
    t.equal(await orm.em.fork().count(Account, { email: 'lost@example.com' }), 0);
    t.equal((await send('POST', `/accounts/${id}/invite`)).status, 503);
    app.mailer.failure = undefined;
    t.equal((await accept(token)).status, 200, 'the earlier link still works');
    const again = await invite('lost@example.com');
    for (let mail = 0; mail < 4; mail++) t.equal((await send('POST', `/accounts/${again.id}/invite`)).status, 204);
    const last = tokenOf();
    t.equal((await send('POST', `/accounts/${again.id}/invite`)).status, 429, 'the sixth mail in ten minutes');
    t.equal((await accept(last)).status, 200);
  });
});

t.test('other words and lifetimes, and wrong options', async (t) => {
  const orm = await openSqlite(t, { entities: [Account, Role] });
  const email = (link: string, { name }: { name: string }, until: Date) => ({
    subject: name,
    content: `${link} ${until.getTime()}`,
  });
  const own = { ...options, invitations: { ...invitations, lifetimeHours: 0.5, email } };
  const app = await startApp(t, orm, own, addRoutes);
  const em = orm.em.fork();
  em.create(Account, {
    email: 'a@example.com',
    password: PASSWORD,
    name: 'A',
    role: em.create(Role, { name: 'admin', permissions: [] }),
  });
  await em.flush();
  const headers = { authorization: `Bearer ${await app.login('a@example.com')}` };
  const answer = await app.post('/api/accounts', { email: 'b@example.com', name: 'Bea', role: null }, headers);
  t.match(answer, { status: 201, body: { role: null } });
  const { subject, content } = app.mailer.mails.at(-1)!;
  t.equal(subject, 'Bea');
  const minutes = (Number(content.split(' ')[1]) - Date.now()) / 60_000;
  t.ok(minutes > 20 && minutes <= 30);

  for (const lifetimeHours of [0, -1, '5', Number.NaN, 8761]) {
    const wrong = startApp(t, orm, { ...options, invitations: { ...invitations, lifetimeHours } as never });
    await t.rejects(wrong, { message: /"invitations".*"lifetimeHours" must be a number above 0/ });
  }
  await t.rejects(startApp(t, orm, { ...options, invitations: { url: 'x' } }), { message: /"invitations".*"url"/ });
  const plain = await openSqlite(t, { entities: [PlainAccount, PlainRole] });
  await t.rejects(startApp(t, plain, { invitations }), { message: /has no invitation_hash, invited_until/ });
  t.throws(() => AccountViewSet(Account, { invitations: true, bulk: 5 }), { message: /"bulk".*"invitations"/ });
});

t.test('a user who is no administrator sends a bounded number of invitations a day', async (t) => {
  const orm = await openSqlite(t, { entities: [Account, Role] });
  const app = await startApp(t, orm, { ...options, invitations: { ...invitations, maxPerDay: 2 } }, addRoutes);
  const em = orm.em.fork();
  for (const [name, permissions] of Object.entries({ admin: [], user: [], inviter: ['accounts.invite'] })) {
    const role = em.create(Role, { name, permissions });
    em.create(Account, { email: `${name}@example.com`, password: PASSWORD, name, role });
  }
  await em.flush();
  const by = async (name: string) => ({ authorization: `Bearer ${await app.login(`${name}@example.com`)}` });
  const [admin, inviter] = [await by('admin'), await by('inviter')];
  const invite = (path: string, name: string, headers: Record<string, string>) =>
    app.post(path, { email: `${name}@example.com`, name: 'Ann' }, headers);
  const made = await invite('/api/managed', 'one', inviter);
  t.equal(made.status, 201);
  const again = () => app.request('POST', `/api/managed/${String(made.body['id'])}/invite`, { headers: inviter });
  t.equal((await again()).status, 204);
  t.match(await invite('/api/managed', 'two', inviter), { status: 429, body: { error: /too many invitations/ } });
  t.equal(await orm.em.fork().count(Account, { email: 'two@example.com' }), 0);
  t.equal((await again()).status, 429);
  for (const name of ['three', 'four', 'five']) t.equal((await invite('/api/accounts', name, admin)).status, 201);
  const wrong = startApp(t, orm, { ...options, invitations: { ...invitations, maxPerDay: 0 } });
  await t.rejects(wrong, { message: /"invitations".*"maxPerDay" must be a whole number from 1 to 10000/ });
});

t.test('a view that invites needs the option of auth', async (t) => {
  const orm = await openSqlite(t, { entities: [Account, Role] });
  const { invitations: _invitations, ...without } = options;
  await t.rejects(startApp(t, orm, without, addRoutes), {
    code: 'improperly_configured',
    message: /AccountViewSet: option "invitations" needs the option "invitations" of auth/,
  });
});
