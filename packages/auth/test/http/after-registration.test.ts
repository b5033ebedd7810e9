/** `afterRegistration`: the application's own work for a new account, in its transaction. */
import { defineEntity, p } from '@mikro-orm/core';
import { afterCommit, Forbidden, TargetObjectAlreadyExist, viewset } from '@viewset/core';
import t from 'tap';
import { forEachDatabase, openSqlite } from '../../../core/test/support/databases.ts';
import { type AfterRegistration, auth } from '../../src/index.ts';
import { PASSWORD, startApp } from '../support/app.ts';
import { Account, Role } from '../support/entities.ts';
import fastify from 'fastify';

const Profile = defineEntity({
  name: 'Profile',
  properties: {
    id: p.integer().primary(),
    nick: p.string().length(50).unique(),
    account: () => p.manyToOne(Account),
  },
});
const entities = [Account, Role, Profile];

forEachDatabase(t, { entities }, async (t, orm) => {
  let hook: AfterRegistration = () => undefined;
  const app = await startApp(t, orm, { afterRegistration: (request, account) => hook(request, account) });
  const register = async (email: string, code?: string) => {
    const known = code ?? (await app.code(email));
    const body = { email, password: PASSWORD, name: 'Ann', code: known };
    return { code: known, ...(await app.post('/auth/register', body)) };
  };
  const profiles = () => orm.em.fork().findAll(Profile);

  t.test('it stores records with the account, and runs work after the commit', async (t) => {
    const events: string[] = [];
    hook = async (request, account) => {
      t.match(account, { email: 'ann@example.com', name: 'Ann' });
      request.em.create(Profile, { nick: 'ann', account: account.id });
      await afterCommit(request, async () => {
        events.push(`welcome ${account.email}, ${(await profiles()).length}`);
      });
      events.push('hook');
    };
    t.equal((await register('ann@example.com')).status, 201);
    t.match(await profiles(), [{ nick: 'ann' }]);
    t.same(events, ['hook', 'welcome ann@example.com, 1']);
  });

  t.test('if it throws, nothing is stored, the client gets its error, and the code stays valid', async (t) => {
    hook = (request, account) => {
      request.em.create(Profile, { nick: 'bob', account: account.id });
      throw new Forbidden('The beta is full');
    };
    const refused = await register('bob@example.com');
    t.match(refused, { status: 403, body: { error: 'The beta is full' } });
    t.equal(await app.stored('bob@example.com'), null);
    t.equal((await profiles()).length, 1);
    hook = () => {
      throw new TypeError('a bug');
    };
    t.equal((await register('bob@example.com', refused.code)).status, 500);
    t.equal(await app.stored('bob@example.com'), null);
    hook = () => undefined;
    t.equal((await register('bob@example.com', refused.code)).status, 201);
  });

  t.test('a unique violation of its record is not that of the address', async (t) => {
    hook = (request, account) => {
      request.em.create(Profile, { nick: 'ann', account: account.id });
    };
    const refused = await register('eve@example.com');
    t.not(refused.status, 201);
    t.notMatch(refused.text, /address|email/i);
    hook = () => {
      throw new TargetObjectAlreadyExist('The nick is taken');
    };
    t.match(await register('eve@example.com', refused.code), { status: 409, body: { error: 'The nick is taken' } });
    t.equal(await app.stored('eve@example.com'), null);
  });
});

t.test('it must be a function', async (t) => {
  const orm = await openSqlite(t, { entities });
  const app = fastify();
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  const options = { account: Account, secret: 'a secret of at least 32 bytes for tests', routes: ['login'] };
  await t.rejects(async () => app.register(auth, { ...options, afterRegistration: 'mail' } as never), {
    message: /"afterRegistration" must be a function, got "mail"/,
  });
});
