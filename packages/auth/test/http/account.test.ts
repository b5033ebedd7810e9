import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { computed, field, Forbidden, readShape, writeShape } from '@viewset/core';
import t from 'tap';
import { Type } from 'typebox';
import { forEachDatabase, openSqlite } from '../../../core/test/support/databases.ts';
import type { AuthOptions, MeOptions } from '../../src/index.ts';
import { PASSWORD, startApp, type Answer, type TestApp } from '../support/app.ts';
import { Role } from '../support/entities.ts';

/** A library's account: fields of its own, and a record that refers to it. */
const Branch = defineEntity({
  name: 'Branch',
  properties: { id: p.integer().primary(), name: p.string().length(50).unique() },
});
const Account = defineEntity({
  name: 'Account',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(100),
    email: p.string().length(255).unique(),
    password: p.string().length(255).hidden(),
    role: () => p.manyToOne(Role).nullable(),
    is_active: p.boolean().default(true),
    last_login: p.datetime(3).nullable(),
    card: p.string().length(10).unique().nullable(),
    branch: () => p.manyToOne(Branch).nullable(),
    born: p.date().nullable(),
  },
});
const Loan = defineEntity({
  name: 'Loan',
  properties: { id: p.integer().primary(), borrower: () => p.manyToOne(Account) },
});
type Account = InferEntity<typeof Account>;
const entities = [Account, Role, Branch, Loan];

const read = readShape(Account, ['id', 'email', 'name', 'card', 'born'], { branch: 'branch.name', role: 'role.name' });
const write = writeShape(Account, ['name', 'card', 'born'], { branch: 'branch.name' });
const registrationFields = writeShape(Account, ['card', 'born'], { branch: 'branch.name' }, { required: ['card'] });
const options: Partial<AuthOptions> = { account: Account, me: { read, write }, registrationFields };

const statuses = (answers: Answer[]): number[] => answers.map(({ status }) => status).toSorted((a, b) => a - b);
const paths = (answer: Answer): string[] =>
  ((answer.body['details'] ?? []) as { path: string }[]).map(({ path }) => path).toSorted();
const bearer = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` });

function client(app: TestApp, token: string) {
  const headers = bearer(token);
  return {
    me: () => app.get('/auth/me', token),
    patch: (json: object) => app.request('PATCH', '/auth/me', { json, headers }),
    delete: (json: object) => app.request('DELETE', '/auth/me', { json, headers }),
    changeEmail: (json: object) => app.post('/auth/change-email', { password: PASSWORD, ...json }, headers),
    confirmEmail: (code: unknown) => app.post('/auth/confirm-email', { code }, headers),
  };
}

async function codeFor(app: TestApp, change: () => Promise<Answer>): Promise<string> {
  const from = app.mailer.mails.length;
  const answer = await change();
  if (answer.status !== 200) throw new Error(answer.text);
  return app.sentCode(from);
}

forEachDatabase(t, { entities }, async (t, orm) => {
  const app = await startApp(t, orm, options);
  await orm.em
    .fork()
    .persist(orm.em.fork().create(Branch, { name: 'Harbour' }))
    .flush();
  const loggedIn = async (email: string) => {
    await app.addAccount(email);
    return client(app, await app.login(email));
  };

  t.test('GET returns the read shape, and request.user has its fields', async (t) => {
    const ann = await loggedIn('ann@example.com');
    const { body, status, headers } = await ann.me();
    t.equal(status, 200);
    t.equal(headers.get('cache-control'), 'no-store');
    const own = { email: 'ann@example.com', name: 'Ann', card: null, born: null, branch: null, role: null };
    t.match(body, own);
    t.strictSame(Object.keys(body).toSorted(), ['born', 'branch', 'card', 'email', 'id', 'name', 'role']);
    t.equal((await app.get('/auth/me')).status, 401);
    const { user } = (await app.get('/me', await app.login('ann@example.com'))).body as unknown as { user: object };
    t.match(user, { ...own, is_active: true });
    t.notOk('password' in user);
  });

  t.test('PATCH changes only fields of the write shape', async (t) => {
    const bea = await loggedIn('bea@example.com');
    const body = { name: 'Bea', card: 'B-1', born: '1990-05-01', branch: 'Harbour', role: 'admin', email: 'x@y.zz' };
    const answer = await bea.patch(body);
    const after = { name: 'Bea', card: 'B-1', branch: 'Harbour', born: '1990-05-01', role: null };
    t.match(answer, { status: 200, body: { ...after, email: 'bea@example.com' } });
    t.strictSame((await bea.me()).body, answer.body);
    t.match(await bea.patch({ name: 'Bee' }), { status: 200, body: { ...after, name: 'Bee' } });
    t.match(await bea.patch({}), { status: 200 });
  });

  t.test('PATCH names every invalid field, including references and taken values', async (t) => {
    const cid = await loggedIn('cid@example.com');
    t.strictSame(paths(await cid.patch({ name: '', card: 'x'.repeat(11), born: 'soon' })), ['/born', '/card', '/name']);
    t.strictSame(paths(await cid.patch({ branch: 'Nowhere' })), ['/branch']);
    const taken = await cid.patch({ card: 'B-1', name: 'Other' });
    t.equal(taken.status, 409, taken.text);
    t.strictSame(paths(taken), ['/card']);
    t.match((await cid.me()).body, { name: 'Ann', card: null });
    t.equal((await app.request('PATCH', '/auth/me', { json: { name: 'x' } })).status, 401);
  });

  t.test('DELETE takes the password, and the account is gone', async (t) => {
    const dan = await loggedIn('dan@example.com');
    t.strictSame(paths(await dan.delete({})), ['/password']);
    t.strictSame(paths(await dan.delete({ password: 'wrong' })), ['/password']);
    t.match(await dan.delete({ password: PASSWORD }), { status: 204, text: '' });
    t.equal(await app.stored('dan@example.com'), null);
    t.equal((await dan.me()).status, 401);
    t.equal((await dan.delete({ password: PASSWORD })).status, 401);
  });

  t.test('of many concurrent deletions exactly one succeeds', async (t) => {
    const dee = await loggedIn('dee@example.com');
    const answers = await Promise.all(Array.from({ length: 5 }, () => dee.delete({ password: PASSWORD })));
    t.strictSame(statuses(answers), [204, 401, 401, 401, 401]);
  });

  t.test('an account that records refer to stays', async (t) => {
    const lea = await loggedIn('lea@example.com');
    const em = orm.em.fork();
    const borrower = await em.findOneOrFail(Account, { email: 'lea@example.com' });
    await em.persist(em.create(Loan, { borrower })).flush();
    t.match(await lea.delete({ password: PASSWORD }), { status: 409, body: { code: 'conflict' } });
    t.equal((await lea.me()).status, 200);
  });

  t.test('a new address is confirmed by the code that it was sent', async (t) => {
    const eve = await loggedIn('eve@example.com');
    const from = app.mailer.mails.length;
    const code = await codeFor(app, () => eve.changeEmail({ new_email: ' Eva@Example.com ' }));
    t.equal((await app.mail(from)).recipient, 'eva@example.com');
    const notice = await app.mail(from + 1);
    t.equal(notice.recipient, 'eve@example.com');
    t.notMatch(notice.content, new RegExp(`${code}|eva@`));
    t.match((await eve.me()).body, { email: 'eve@example.com' }, 'nothing has changed yet');
    t.strictSame(paths(await eve.confirmEmail(code === '000000' ? '000001' : '000000')), ['/code']);
    t.strictSame(paths(await eve.confirmEmail(undefined)), ['/code']);
    const other = await loggedIn('other@example.com');
    t.strictSame(paths(await other.confirmEmail(code)), ['/code'], 'it is one account’s');
    t.equal((await eve.confirmEmail(code)).status, 200);
    t.match((await eve.me()).body, { email: 'eva@example.com' });
    t.equal((await eve.confirmEmail(code)).status, 400, 'once');
    t.ok(await app.login('eva@example.com'));
  });

  t.test('change-email needs the password, and returns the same if the new address has an account', async (t) => {
    const fay = await loggedIn('fay@example.com');
    const free = await fay.changeEmail({ new_email: 'free@example.com' });
    const taken = await fay.changeEmail({ new_email: 'ann@example.com' });
    t.equal(free.status, 200);
    t.equal(free.text, taken.text);
    t.strictSame(paths(await fay.changeEmail({ new_email: 'x', password: 5 })), ['/new_email', '/password']);
    t.strictSame(paths(await fay.changeEmail({ new_email: 'free@example.com', password: 'wrong' })), ['/password']);
    t.equal((await app.post('/auth/change-email', { new_email: 'a@b.cc', password: PASSWORD })).status, 401);
    const code = await codeFor(app, () => fay.changeEmail({ new_email: 'ann@example.com' }));
    const refused = await fay.confirmEmail(code);
    t.equal(refused.status, 400, refused.text);
    t.strictSame(paths(refused), ['/new_email']);
    t.match((await fay.me()).body, { email: 'fay@example.com' });
  });

  t.test('a code for registration confirms no address', async (t) => {
    const gus = await loggedIn('gus@example.com');
    const code = await app.code('gus2@example.com');
    await gus.changeEmail({ new_email: 'gus2@example.com' });
    t.strictSame(paths(await gus.confirmEmail(code)), ['/code']);
  });

  t.test('of two accounts that concurrently confirm one address, one gets it', async (t) => {
    const both = await Promise.all(['hal@example.com', 'ivy@example.com'].map(loggedIn));
    const codes: string[] = [];
    for (const each of both) codes.push(await codeFor(app, () => each.changeEmail({ new_email: 'both@example.com' })));
    const answers = await Promise.all(both.map((each, index) => each.confirmEmail(codes[index])));
    t.strictSame(statuses(answers), [200, 400]);
    t.equal(await orm.em.fork().count(Account, { email: 'both@example.com' }), 1);
  });

  t.test('a body may have another name for a property, which a conflict names as the body does', async (t) => {
    const renamed = writeShape(Account, [], { passport: 'card' });
    const other = await startApp(t, orm, { account: Account, me: { read, write: renamed } });
    await other.addAccount('kim@example.com');
    const kim = client(other, await other.login('kim@example.com'));
    t.match(await kim.patch({ passport: 'K-1', card: 'no' }), { status: 200, body: { card: 'K-1' } });
    const taken = await kim.patch({ passport: 'B-1' });
    t.equal(taken.status, 409, taken.text);
    t.strictSame(paths(taken), ['/passport']);
  });

  t.test('registration accepts additional fields of the application', async (t) => {
    const email = 'jo@example.com';
    const code = await app.code(email);
    const body = { email, password: PASSWORD, name: 'Jo', code };
    t.strictSame(paths(await app.post('/auth/register', { ...body, email: 'x', born: 'soon' })), [
      '/born',
      '/card',
      '/email',
    ]);
    t.strictSame(paths(await app.post('/auth/register', { ...body, card: 'J-1', branch: 'Nowhere' })), ['/branch']);
    const taken = await app.post('/auth/register', { ...body, card: 'B-1' });
    t.equal(taken.status, 409, taken.text);
    t.strictSame(paths(taken), ['/card']);
    const own = { card: 'J-1', born: '2001-02-03', branch: 'Harbour' };
    const made = await app.post('/auth/register', { ...body, ...own, is_active: false });
    t.match(made, { status: 201, body: { user: { email, name: 'Jo' } } });
    t.match((await client(app, await app.login(email)).me()).body, own);
  });
});

t.test('without shapes /me is the account as the specification has it, and has no PATCH', async (t) => {
  const app = await startApp(t, await openSqlite(t, { entities }), { account: Account, me: {} });
  const role = await app.addRole('user');
  await app.addAccount('ann@example.com', { role });
  const ann = client(app, await app.login('ann@example.com'));
  const id = (await app.stored('ann@example.com'))!.id;
  t.strictSame((await ann.me()).body, { id, email: 'ann@example.com', name: 'Ann', role: 'user', is_active: true });
  t.equal((await ann.patch({ name: 'x' })).status, 405);
});

t.test('DELETE can be left out', async (t) => {
  const me = { delete: false };
  const app = await startApp(t, await openSqlite(t, { entities }), { account: Account, me });
  await app.addAccount('ann@example.com');
  const ann = client(app, await app.login('ann@example.com'));
  t.equal((await ann.delete({ password: PASSWORD })).status, 405);
});

t.test('the application can refuse a deletion', async (t) => {
  const orm = await openSqlite(t, { entities });
  let refusal: Error | undefined = new Forbidden('You have books to return');
  const me: MeOptions = {
    async delete(request, remove) {
      await request.em.nativeDelete(Loan, {});
      await remove();
      if (refusal !== undefined) throw refusal;
    },
  };
  const app = await startApp(t, orm, { account: Account, me });
  const borrower = await app.addAccount('ann@example.com');
  const em = orm.em.fork();
  await em.insert(Loan, { borrower: borrower.id });
  const ann = client(app, await app.login('ann@example.com'));
  t.match(await ann.delete({ password: PASSWORD }), { status: 403, body: { error: 'You have books to return' } });
  t.equal(await em.count(Loan), 1, 'all of it is rolled back');
  refusal = undefined;
  t.equal((await ann.delete({ password: PASSWORD })).status, 204);
  t.equal(await em.count(Loan), 0);
});

t.test('a shape with a property that only the package writes fails at start', async (t) => {
  const orm = await openSqlite(t, { entities });
  for (const name of ['email', 'password', 'is_active', 'role', 'last_login', 'id'] as const) {
    const shape = writeShape(Account, [name] as never);
    await t.rejects(startApp(t, orm, { account: Account, me: { write: shape } }), {
      name: 'ImproperlyConfigured',
      message: `auth: option "me.write" cannot have "${name}", which only the package writes`,
    });
  }
  const shape = writeShape(Account, [], { name: Type.String() });
  await t.rejects(startApp(t, orm, { account: Account, registrationFields: shape }), {
    message: 'auth: option "registrationFields" cannot have "name", which only the package writes',
  });
  for (const name of ['email', 'password', 'name', 'code']) {
    const renamed = writeShape(Account, ['born'], { [name]: field('card') } as never);
    await t.rejects(startApp(t, orm, { account: Account, registrationFields: renamed }), {
      name: 'ImproperlyConfigured',
      message: `auth: option "registrationFields" cannot send "card" as "${name}", which a registration has by itself`,
    });
  }
  const asks = computed(Type.Boolean(), ['id' as never], (_account, request) => request.url !== '');
  await t.rejects(startApp(t, orm, { account: Account, me: { read: readShape(Account, ['id'], { asks }) } }), {
    name: 'ImproperlyConfigured',
    message: /option "me.read" makes `request.user`, before there is a user/,
  });
  await t.rejects(startApp(t, orm, { account: Account, me: { reads: 5 } as never }), {
    message: /unknown option "reads"/,
  });
});
