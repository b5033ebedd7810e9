/** An invited account belongs to nobody until its invitation is accepted: nothing that was left in it before gives access. */
import { defineEntity, p } from '@mikro-orm/core';
import { Router } from '@viewset/core';
import t from 'tap';
import { forEachDatabase } from '../../../core/test/support/databases.ts';
import { AccountViewSet } from '../../src/index.ts';
import { PASSWORD, startApp } from '../support/app.ts';
import { InvitedAccount as Account, PermissionRole as Role } from '../support/entities.ts';
import { CLIENT, Navigator, TestProvider } from '../support/openid.ts';

const Identity = defineEntity({
  name: 'Identity',
  properties: {
    id: p.integer().primary(),
    account: () => p.manyToOne(Account).deleteRule('cascade'),
    provider: p.string().length(50),
    subject: p.string().length(255),
  },
  uniques: [{ properties: ['provider', 'subject'] }],
});

class Accounts extends AccountViewSet(Account, { invitations: true }) {}
class Plain extends AccountViewSet(Account) {}

forEachDatabase(t, { entities: [Account, Role, Identity] }, async (t, orm) => {
  const provider = await new TestProvider().start(t);
  const options = {
    account: Account,
    passwords: {},
    invitations: { url: 'https://shop.example.com/welcome#token={token}' },
    oauth: { identity: Identity, providers: { main: { issuer: provider.issuer, ...CLIENT } } },
  };
  const app = await startApp(t, orm, options, (scope) => {
    const router = new Router({ prefix: 'api' });
    router.register('accounts', Accounts);
    router.register('plain', Plain);
    void scope.register(router.plugin);
  });
  const at = `${app.app.listeningOrigin}/auth/oauth/main`;
  provider.serve(`${at}/callback`);
  const em = orm.em.fork();
  const role = em.create(Role, { name: 'admin', permissions: [] });
  em.create(Account, { email: 'boss@example.com', password: PASSWORD, name: 'Boss', role });
  await em.flush();
  const headers = { authorization: `Bearer ${await app.login('boss@example.com')}` };
  const send = (method: string, path: string, json?: unknown) =>
    app.request(method, `/api${path}`, { headers, ...(json !== undefined && { json }) });
  const tokenOf = (): string => /#token=(\S+)/.exec(app.mailer.mails.at(-1)?.content ?? '')?.[1] ?? '';
  const accept = () => app.post('/auth/accept-invitation', { token: tokenOf(), password: PASSWORD });
  const invite = async (email: string): Promise<number> => {
    const { status, body } = await send('POST', '/accounts', { email, name: 'Ann' });
    t.equal(status, 201);
    return body['id']!;
  };
  /** Logs in by the service, as a person with a verified address. */
  const serviceLogin = async (sub: string, email: string): Promise<Response> => {
    provider.person = { sub, email, email_verified: true };
    const browser = new Navigator();
    return browser.get(await browser.follow(at, `${at}/callback`));
  };
  const identities = (account: number) => orm.em.fork().count(Identity, { account: { id: account } });
  /** Stores an identity that an earlier version let in. */
  const plant = async (account: number, subject: string): Promise<void> => {
    const fork = orm.em.fork();
    fork.create(Identity, { account, provider: 'main', subject });
    await fork.flush();
  };

  t.test('a login by a service at the mistyped address leaves nothing in the account', async (t) => {
    const id = await invite('mistyped@example.com');
    t.equal((await serviceLogin('thief', 'mistyped@example.com')).status, 401);
    t.equal(await identities(id), 0);
    t.equal((await send('PATCH', `/accounts/${id}`, { email: 'right@example.com' })).status, 200);
    t.equal((await send('POST', `/accounts/${id}/invite`)).status, 204);
    t.equal((await accept()).status, 200);
    const answer = await serviceLogin('thief', 'mistyped@example.com');
    t.equal(answer.status, 200, 'the person gets an account of their own');
    const { access_token: token } = (await answer.json()) as { access_token: string };
    t.match(await app.get('/me', token), { body: { user: { email: 'mistyped@example.com' } } });
    t.equal(await identities(id), 0);
    t.equal((await serviceLogin('owner', 'right@example.com')).status, 200);
    t.equal(await identities(id), 1, 'the owner of the active account can log in by the service');
  });

  t.test('a disabled account gets no identity either', async (t) => {
    const { id } = await app.addAccount('disabled@example.com', { is_active: false });
    t.equal((await serviceLogin('disabled', 'disabled@example.com')).status, 401);
    t.equal(await identities(id), 0);
  });

  t.test('a new address, a new invitation and the acceptance each remove what is in the account', async (t) => {
    for (const [index, view] of ['accounts', 'plain'].entries()) {
      const id = await invite(`before${index}@example.com`);
      await plant(id, `address${index}`);
      t.equal((await send('PATCH', `/${view}/${id}`, { name: 'Bea' })).status, 200);
      t.equal(await identities(id), 1, 'another name is no other owner');
      const changes = { email: `after${index}@example.com`, is_active: true };
      t.equal((await send('PATCH', `/${view}/${id}`, changes)).status, 200);
      t.equal(await identities(id), 0, view);
    }
    const again = await invite('again@example.com');
    await plant(again, 'again');
    t.equal((await send('POST', `/accounts/${again}/invite`)).status, 204);
    t.equal(await identities(again), 0);
    await plant(again, 'again');
    t.equal((await accept()).status, 200);
    t.equal(await identities(again), 0);
  });

  t.test('the identities of an account in use stay', async (t) => {
    const { id } = await app.addAccount('used@example.com');
    t.equal((await serviceLogin('used', 'used@example.com')).status, 200);
    t.equal((await send('PATCH', `/accounts/${id}`, { email: 'used2@example.com' })).status, 200);
    t.equal((await send('PATCH', `/accounts/${id}`, { is_active: false })).status, 200);
    t.equal((await send('PATCH', `/accounts/${id}`, { email: 'used3@example.com' })).status, 200);
    t.equal((await send('POST', `/accounts/${id}/invite`)).status, 409);
    t.equal(await identities(id), 1);
  });
});
