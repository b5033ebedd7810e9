import type { MikroORM } from '@mikro-orm/core';
import { setTimeout as sleep } from 'node:timers/promises';
import { readShape, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import { fastify } from 'fastify';
import t, { type Test } from 'tap';
import { openSqlite } from '../../../core/test/support/databases.ts';
import { AccountViewSet, auth, organizations } from '../../src/index.ts';
import { MailBox, PASSWORD, SECRET } from '../support/app.ts';
import { Authenticator } from '../support/authenticator.ts';
import { Account, Club, ClubInvitation, ClubMember, ClubNote, Passkey, Role, Session } from '../support/entities.ts';

const ADDRESS = '192.0.2.7';

/** An application, and every line that it logs. */
async function loggingApp(t: Test, orm: MikroORM) {
  const lines: Record<string, unknown>[] = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  const app = fastify(serverOptions({ logger: { stream }, trustProxy: true }));
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  return { app, lines };
}

t.test('every security event is one line with the account and the address, and without secrets', async (t) => {
  const orm = await openSqlite(t, { entities: [Account, Role] });
  const { app, lines } = await loggingApp(t, orm);
  const mailer = new MailBox();
  await app.register(auth, { account: Account, secret: SECRET, bcryptRounds: 4, mailer });
  app.get('/me', async (request) => request.user);
  /** Sends a request, and answers the events that it logged. */
  const events = async (url: string, json: object | undefined, headers: Record<string, string> = {}) => {
    const from = lines.length;
    const request = {
      url,
      method: json === undefined ? 'GET' : 'POST',
      payload: json,
      remoteAddress: ADDRESS,
      headers,
    };
    const answer = await app.inject(request as never);
    return { answer, events: lines.slice(from).filter(({ event }) => event !== undefined) };
  };
  const login = (email: string, password: string) => events('/auth/login', { email, password });
  const event = (name: string, more: object = {}): object => ({ event: name, level: 30, address: ADDRESS, ...more });

  const email = 'ann@example.com';
  const sent = await events('/auth/send-verification-email', { email });
  t.match(sent.events, [event('auth.code_sent', { account: null, route: '/auth/send-verification-email' })]);
  const code = /\d{6}/.exec(mailer.mails[0]!.content)![0];
  const account = { email, password: PASSWORD, name: 'Ann' };
  const wrong = await events('/auth/register', { ...account, code: 'wrong' });
  t.match(wrong.events, [event('auth.registration_failed')]);
  const registered = await events('/auth/register', { ...account, code });
  const { id } = registered.answer.json<{ user: { id: number } }>().user;
  t.match(registered.events, [event('auth.registered', { account: id })]);

  const good = await login(email, PASSWORD);
  t.match(good.events, [event('auth.login', { account: id })]);
  const bad = await login(email, 'wrong-password');
  t.match(bad.events, [event('auth.login_failed', { account: id, reason: 'wrong_password' })]);
  const nobody = await login('nobody@example.com', 'wrong-password');
  t.match(nobody.events, [event('auth.login_failed', { account: null, reason: 'no_account' })]);
  for (let more = 0; more < 9; more++) await login(email, 'wrong-password');
  t.match((await login(email, 'wrong-password')).events, [event('auth.login_held')]);

  const { access_token: token } = good.answer.json<{ access_token: string }>();
  t.strictSame(
    (await events('/me', undefined, { authorization: `Bearer ${token}` })).events,
    [],
    'a good token is none',
  );
  t.strictSame((await events('/me', undefined)).events, [], 'nor is no token');
  const forged = await events('/me', undefined, { authorization: `Bearer ${token}x` });
  t.match(forged.events, [event('auth.token_refused', { msg: 'The token is not valid' })]);
  t.strictSame(
    (await events('/auth/login', {}, { authorization: 'Bearer bad' })).events.length,
    1,
    'one that counts as none is none',
  );
  const all = JSON.stringify(lines);
  for (const secret of [PASSWORD, 'wrong-password', code, token, SECRET, 'ann@', 'nobody@', '$2b$']) {
    t.notOk(all.includes(secret), `no line has ${secret}`);
  }
});

t.test('every event of a session is one line with the account, and without secrets', async (t) => {
  const orm = await openSqlite(t, { entities: [Account, Role, Session] });
  const { app, lines } = await loggingApp(t, orm);
  const mailer = new MailBox();
  await app.register(auth, { account: Account, secret: SECRET, bcryptRounds: 4, mailer, sessions: Session });
  const em = orm.em.fork();
  const email = 'ann@example.com';
  const { id } = await em
    .persist(em.create(Account, { email, password: PASSWORD, name: 'Ann' } as never))
    .flush()
    .then(() => em.findOneOrFail(Account, { email }));
  const secrets: string[] = [];
  const send = async (method: 'POST' | 'DELETE' | 'GET', url: string, json?: object, token?: string) => {
    const from = lines.length;
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const body = json === undefined ? {} : { payload: json };
    const answer = await app.inject({ url, method, remoteAddress: ADDRESS, headers, ...body });
    const tokens = answer.body.startsWith('{')
      ? answer.json<{ access_token: string; refresh_token: string }>()
      : undefined;
    secrets.push(...[tokens?.access_token, tokens?.refresh_token].filter((each) => each !== undefined));
    const events = lines.slice(from).filter((line) => line['event'] !== undefined);
    return { tokens: tokens!, events, answer };
  };
  const login = async () => (await send('POST', '/auth/login', { email, password: PASSWORD, refresh: 'body' })).tokens;
  const refresh = (refresh_token: string) => send('POST', '/auth/refresh', { refresh_token });
  const line = (event: string, account: number | null = id, level = 30) => [
    { event, account, level, address: ADDRESS },
  ];

  const first = await login();
  const next = await refresh(first.refresh_token);
  t.match(next.events, line('auth.refreshed'));
  t.match((await refresh('x.y.z')).events, line('auth.refresh_refused', null));
  const cookie = `refresh_token=${next.tokens.refresh_token}`;
  const from = lines.length;
  await app.inject({ method: 'POST', url: '/auth/refresh', remoteAddress: ADDRESS, headers: { cookie } });
  t.match(
    lines.slice(from).filter((each) => each['event'] !== undefined),
    line('auth.origin_refused', null),
  );
  t.match((await refresh(next.tokens.refresh_token)).events, line('auth.refreshed'));
  await em.nativeUpdate(Session, {}, { last_used_at: new Date(0) });
  const reused = await refresh(first.refresh_token);
  t.match(reused.events[0], line('auth.refresh_reused', id, 40)[0]);
  t.match((await send('POST', '/auth/logout', undefined, (await login()).access_token)).events, line('auth.logout'));
  const { refresh_token } = await login();
  t.match((await send('POST', '/auth/logout', { refresh_token })).events, line('auth.logout'), 'by the refresh token');
  const { access_token: token } = await login();
  const [other] = await em.find(Session, { account: id });
  await login();
  t.match((await send('DELETE', `/auth/sessions/${other!.id}`, undefined, token)).events, line('auth.session_ended'));
  const last = await login();
  t.match((await send('POST', '/auth/logout-all', undefined, last.access_token)).events, line('auth.logout_all'));
  const all = JSON.stringify(lines);
  t.ok(secrets.length > 8);
  for (const secret of [...secrets, PASSWORD, 'ann@']) t.notOk(all.includes(secret), secret.slice(0, 20));
});

t.test('every event of a passkey is one line with its account, and without secrets', async (t) => {
  const orm = await openSqlite(t, { entities: [Account, Role, Passkey] });
  const { app, lines } = await loggingApp(t, orm);
  const passkeys = { entity: Passkey, rpId: 'example.com' };
  const mailer = new MailBox();
  await app.register(auth, { account: Account, secret: SECRET, bcryptRounds: 4, mailer, passkeys });
  const email = 'ann@example.com';
  const em = orm.em.fork();
  await em.persist(em.create(Account, { email, password: PASSWORD, name: 'Ann' } as never)).flush();
  const { id } = await em.findOneOrFail(Account, { email });
  const headers: Record<string, string> = {};
  const send = async (method: 'POST' | 'DELETE', url: string, payload: object = {}) => {
    const from = lines.length;
    const answer = await app.inject({ url: `/auth${url}`, method, remoteAddress: ADDRESS, headers, payload });
    for (const { name, value } of answer.cookies) headers['cookie'] = `${name}=${value}`;
    const body = answer.body === '' ? {} : answer.json<Record<string, never>>();
    return { body, events: lines.slice(from).filter(({ event }) => event !== undefined) };
  };
  const line = (event: string, more: object = {}) => [{ event, account: id, address: ADDRESS, level: 30, ...more }];

  const { body } = await send('POST', '/login', { email, password: PASSWORD });
  headers['authorization'] = `Bearer ${String(body['access_token'])}`;
  const key = new Authenticator('https://example.com');
  const { body: options, events } = await send('POST', '/passkeys/options', { password: PASSWORD });
  t.strictSame(events, []);
  const made = key.create(options as never);
  const added = await send('POST', '/passkeys', { name: 'Phone', passkey: made });
  const passkey = added.body['id'];
  t.match(added.events, line('auth.passkey_added', { passkey }));
  t.match((await send('POST', '/passkeys', { name: 'x', passkey: made })).events, line('auth.passkey_refused'));
  const logIn = async (counter?: number) => {
    const requested = (await send('POST', '/login/passkey/options')).body;
    const answer = key.get(requested as never, counter === undefined ? {} : { counter });
    return send('POST', '/login/passkey', { passkey: answer });
  };
  t.match((await logIn(9)).events, line('auth.login'));
  const [counter, refused] = (await logIn(9)).events;
  t.match([counter], line('auth.passkey_counter', { passkey, level: 40 }));
  t.match([refused], line('auth.passkey_refused', { account: null }));
  const deleted = await send('DELETE', `/passkeys/${String(passkey)}`, { password: PASSWORD });
  t.match(deleted.events, line('auth.passkey_deleted', { passkey }));
  const all = JSON.stringify(lines);
  for (const secret of [key.id, String(options['challenge']), PASSWORD, 'ann@']) t.notOk(all.includes(secret), secret);
});

t.test('every event of an account is one line with the account, and without secrets', async (t) => {
  const orm = await openSqlite(t, { entities: [Account, Role] });
  const { app, lines } = await loggingApp(t, orm);
  const mailer = new MailBox();
  const me = { write: writeShape(Account, ['name']) };
  await app.register(auth, { account: Account, secret: SECRET, bcryptRounds: 4, mailer, passwords: {}, me });
  const em = orm.em.fork();
  const email = 'ann@example.com';
  await em.persist(em.create(Account, { email, password: PASSWORD, name: 'Ann' } as never)).flush();
  const { id } = await em.findOneOrFail(Account, { email });
  const login = await app.inject({ method: 'POST', url: '/auth/login', payload: { email, password: PASSWORD } });
  const { access_token: token } = login.json<{ access_token: string }>();
  const NEW = 'battery staple';
  let from = 0;
  const send = async (method: 'POST' | 'PATCH' | 'DELETE', url: string, payload: object) => {
    from = lines.length;
    const headers = { authorization: `Bearer ${token}` };
    await app.inject({ method, url: `/auth/${url}`, remoteAddress: ADDRESS, headers, payload });
    return lines.slice(from).filter(({ event }) => event !== undefined);
  };
  const line = (event: string, account: number | null = id) => [{ event, account, level: 30, address: ADDRESS }];
  const sentCode = async (place: number): Promise<string> => {
    const codes = () => mailer.mails.flatMap(({ content }) => /\d{6}/.exec(content)?.[0] ?? []);
    while (codes().length <= place) await sleep(10);
    return codes()[place]!;
  };

  t.match(await send('PATCH', 'me', { name: 'Anna' }), line('auth.account_changed'));
  const change = { current_password: PASSWORD, new_password: NEW };
  t.match(
    await send('POST', 'change-password', { ...change, current_password: 'wrong' }),
    line('auth.password_refused'),
  );
  t.match(await send('POST', 'change-password', change), line('auth.password_changed'));
  await send('POST', 'forgot-password', { email });
  const code = await sentCode(0);
  await sleep(10);
  t.match(
    lines.slice(from).filter(({ event }) => event !== undefined),
    line('auth.reset_code_sent'),
  );
  t.match(
    await send('POST', 'reset-password', { email, code: 'x', new_password: NEW }),
    line('auth.reset_failed', null),
  );
  t.match(await send('POST', 'reset-password', { email, code, new_password: NEW }), line('auth.password_reset'));
  const requested = await send('POST', 'change-email', { new_email: 'anna@example.com', password: NEW });
  t.match(requested, line('auth.email_change_asked'));
  t.match(await send('POST', 'confirm-email', { code: 'x' }), line('auth.email_change_failed'));
  const second = await sentCode(1);
  t.match(await send('POST', 'confirm-email', { code: second }), line('auth.email_changed'));
  t.match(await send('DELETE', 'me', { password: NEW }), line('auth.account_deleted'));
  const all = JSON.stringify(lines);
  for (const secret of [PASSWORD, NEW, code, second, token, 'ann@', 'anna@', '$2b$']) {
    t.notOk(all.includes(secret), secret);
  }
});

t.test('a password that was stored unhashed cannot log in, and the log says so', async (t) => {
  const orm = await openSqlite(t, { entities: [Account, Role] });
  const { app, lines } = await loggingApp(t, orm);
  const em = orm.em.fork();
  // Without await: the plugin, and so its subscriber, is not there before the application is ready.
  void app.register(auth, { account: Account, secret: SECRET, bcryptRounds: 4, mailer: new MailBox() });
  const account = em.create(Account, { email: 'early@example.com', password: PASSWORD, name: 'Early' } as never);
  await em.flush();
  const payload = { email: 'early@example.com', password: PASSWORD };
  t.equal((await app.inject({ method: 'POST', url: '/auth/login', payload })).statusCode, 401);
  const errors = lines.filter(({ level }) => level === 50);
  t.match(errors, [{ account: account.id, msg: /stored password of this account is not a hash/ }]);
  t.notMatch(JSON.stringify(lines), PASSWORD);
});

t.test('changes of members and invitations of organizations are security events, after the commit', async (t) => {
  const orm = await openSqlite(t, { entities: [Account, Role, Club, ClubMember, ClubNote, ClubInvitation] });
  const { app, lines } = await loggingApp(t, orm);
  const mailer = new MailBox();
  await app.register(auth, { account: Account, secret: SECRET, bcryptRounds: 4, mailer });
  const roles = { owner: ['organization.write', 'members.write'], manager: [], writer: [], guest: [] };
  const clubs = organizations({ organization: Club, membership: ClubMember, name: 'club', roles });
  const email = () => ({ subject: 'Join us', content: 'Log in' });
  const router = new Router()
    .register('clubs', clubs.OrganizationViewSet({ read: readShape(Club, ['id']), operations: ['list'] }))
    .register('clubs/:club/members', clubs.MembershipViewSet())
    .register('clubs/:club/invitations', clubs.InvitationViewSet(ClubInvitation, { email }))
    .register('invitations', clubs.ReceivedInvitationViewSet(ClubInvitation))
    .register('accounts', AccountViewSet(Account));
  await app.register(router.plugin);
  const em = orm.em.fork();
  const [ann, bob, admin] = ['ann@example.com', 'bob@example.com', 'admin@example.com'].map((address) =>
    em.create(Account, { email: address, password: PASSWORD, name: 'Ann' } as never),
  );
  admin!.role = em.create(Role, { name: 'admin' });
  const club = em.create(Club, { name: 'Chess' } as never);
  em.create(ClubMember, { club, account: ann!, role: 'owner' });
  await em.flush();
  const send = async ({ id, email: address }: Account, method: string, url: string, payload?: object) => {
    const from = lines.length;
    const token = app.auth.issueToken({ id, email: address, name: 'Ann', role: null });
    const headers = { authorization: `Bearer ${token}` };
    const answer = await app.inject({ method, url, headers, ...(payload && { payload }) } as never);
    const events = lines.slice(from).filter(({ event }) => event !== undefined);
    const { id: made } = (answer.body === '' ? {} : answer.json()) as { id: number };
    return { status: answer.statusCode, events, id: made };
  };
  const event = (name: string, by: Account, more: object): object => ({
    event: name,
    level: 30,
    account: by.id,
    organization: club.id,
    ...more,
  });

  const path = `/clubs/${club.id}`;
  const json = { email: bob!.email, role: 'guest' };
  const invite = () => send(ann!, 'POST', `${path}/invitations`, json);
  const first = await invite();
  t.match(first.events, [event('auth.member_invited', ann!, { invitation: first.id, role: 'guest' })]);
  const again = await send(ann!, 'POST', `${path}/invitations/${first.id}/resend`);
  t.match(again.events, [event('auth.member_invited', ann!, { invitation: first.id })]);
  const twice = await invite();
  t.match(twice, { status: 409, events: [] });
  const declined = await send(bob!, 'DELETE', `/invitations/${first.id}`);
  t.match(declined.events, [event('auth.member_invitation_declined', bob!, { invitation: first.id })]);
  const second = await invite();
  const revoked = await send(ann!, 'DELETE', `${path}/invitations/${second.id}`);
  t.match(revoked.events, [event('auth.member_invitation_revoked', ann!, { invitation: second.id, role: 'guest' })]);
  mailer.failure = new Error('no mail server');
  t.strictSame((await invite()).events, [], 'a mail that was not sent');
  mailer.failure = undefined;
  const third = await invite();
  const accepted = await send(bob!, 'POST', `/invitations/${third.id}/accept`);
  t.match(accepted.events, [event('auth.member_invitation_accepted', bob!, { invitation: third.id, role: 'guest' })]);

  const { id: row } = await em.findOneOrFail(ClubMember, { account: bob! });
  const changed = await send(ann!, 'PATCH', `${path}/members/${row}`, { role: 'owner' });
  t.match(changed.events, [event('auth.member_changed', ann!, { target: bob!.id, role: 'owner', was: 'guest' })]);
  t.strictSame((await send(ann!, 'PATCH', `${path}/members/${row}`, { role: 'owner' })).events, [], 'no change');
  const left = await send(bob!, 'DELETE', `${path}/members/${row}`);
  t.match(left.events, [event('auth.member_removed', bob!, { target: bob!.id, role: 'owner' })]);
  const { id: last } = await em.findOneOrFail(ClubMember, { account: ann! });
  t.match(await send(ann!, 'DELETE', `${path}/members/${last}`), { status: 409, events: [] }, 'rolled back');
  const url = `/accounts/${ann!.id}`;
  t.match(await send(admin!, 'DELETE', url), { status: 409, events: [] }, 'the account of the last owner');
  const disabled = await send(admin!, 'PATCH', url, { is_active: false });
  t.match(disabled.events, [
    { event: 'auth.organization_without_owner', account: admin!.id, target: ann!.id, organization: club.id },
    { event: 'auth.account_disabled', target: ann!.id },
  ]);
  t.notMatch(JSON.stringify(lines.filter(({ event: name }) => name !== undefined)), /bob@example/);
});
