/** An account whose properties have names of the application's own. */
import { defineEntity, p } from '@mikro-orm/core';
import { writeShape } from '@viewset/core';
import t from 'tap';
import { forEachDatabase, openSqlite } from '../../../core/test/support/databases.ts';
import { AccountSubscriber, type AuthOptions, PasswordHasher } from '../../src/index.ts';
import { PASSWORD, startApp, type TestApp } from '../support/app.ts';

const Group = defineEntity({
  name: 'Group',
  properties: { id: p.integer().primary(), name: p.string().length(50).unique() },
});
const Person = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary(),
    username: p.string().length(100),
    mail: p.string().length(255).unique(),
    passwordHash: p.string().length(255).hidden(),
    group: () => p.manyToOne(Group).nullable(),
    isActive: p.boolean().default(true),
    lastLogin: p.datetime(3).nullable(),
  },
});
const entities = [Person, Group];
const fields = {
  name: 'username',
  email: 'mail',
  password: 'passwordHash',
  role: 'group',
  is_active: 'isActive',
  last_login: 'lastLogin',
};
const write = writeShape(Person, ['username']);
const options = { account: Person, fields, me: { write }, passwords: {} } as Partial<AuthOptions>;

forEachDatabase(t, { entities }, async (t, orm) => {
  const app = await startApp(t, orm, options);
  const em = orm.em.fork();
  await em.persist(em.create(Group, { name: 'user' })).flush();
  const email = 'ann@example.com';
  const stored = () => orm.em.fork().findOneOrFail(Person, { mail: email });
  const send = (method: string, path: string, json: object, token: string) =>
    app.request(method, `/auth/${path}`, { json, headers: { authorization: `Bearer ${token}` } });

  t.test('registration, login and the user', async (t) => {
    const code = await app.code(' Ann@Example.com');
    const made = await app.post('/auth/register', { email, password: PASSWORD, name: 'Ann', code });
    t.match(made, { status: 201, body: { user: { email, name: 'Ann' } } }, made.text);
    t.match(await stored(), { username: 'Ann', isActive: true, passwordHash: /^\$2b\$/ });
    const token = await app.login(email);
    t.type((await stored()).lastLogin, Date);
    const user = { email, name: 'Ann', is_active: true, role: { name: 'user' } };
    t.match((await app.get('/me', token)).body, { user });
    t.match((await app.get('/auth/me', token)).body, { email, name: 'Ann', is_active: true, role: 'user' });
  });

  t.test('passwords, address and deletion', async (t) => {
    const token = await app.login(email);
    const changed = { current_password: PASSWORD, new_password: 'battery staple' };
    t.equal((await send('POST', 'change-password', changed, token)).status, 204);
    let from = app.mailer.mails.length;
    await app.post('/auth/forgot-password', { email });
    const reset = { email, code: await app.sentCode(from), new_password: PASSWORD };
    t.equal((await app.post('/auth/reset-password', reset)).status, 204);
    t.match(await send('PATCH', 'me', { username: 'Anna' }, token), { status: 200, body: { name: 'Anna' } });
    from = app.mailer.mails.length;
    await send('POST', 'change-email', { new_email: 'anna@example.com', password: PASSWORD }, token);
    t.equal((await send('POST', 'confirm-email', { code: await app.sentCode(from) }, token)).status, 200);
    t.ok(await app.login('anna@example.com'));
    t.equal((await send('DELETE', 'me', { password: PASSWORD }, token)).status, 204);
    t.equal(await orm.em.fork().count(Person, {}), 0);
  });

  t.test('a disabled account and a saved one', async (t) => {
    const fork = orm.em.fork();
    await fork
      .persist(
        fork.create(Person, { mail: ' Bob@Example.com', username: 'Bob', passwordHash: PASSWORD, isActive: true }),
      )
      .flush();
    const token = await app.login('bob@example.com');
    await orm.em.fork().nativeUpdate(Person, { mail: 'bob@example.com' }, { isActive: false });
    t.equal((await app.get('/me', token)).status, 401);
    t.match(await app.post('/auth/login', { email: 'bob@example.com', password: PASSWORD }), {
      status: 401,
      body: { error: 'The account is disabled' },
    });
  });
});

t.test('the names are checked at start, and the messages have them', async (t) => {
  const orm = await openSqlite(t, { entities });
  const start = (given: object): Promise<TestApp> => startApp(t, orm, { account: Person, fields: given });
  await t.rejects(start({ ...fields, nam: 'username' }), { message: /option "fields": unknown option "nam"/ });
  await t.rejects(start({ ...fields, name: 5 }), { message: /option "fields\.name" must be the name of a property/ });
  await t.rejects(start({ ...fields, is_active: 'active' }), { message: /Person has no active/ });
  await t.rejects(start({ ...fields, email: 'username' }), { message: /a unique property "username"/ });
  const subscriber = new AccountSubscriber(Person, new PasswordHasher({ rounds: 4 }), { password: 'passwordHash' });
  t.ok(subscriber.getSubscribedEntities().includes(Person as never));
});
