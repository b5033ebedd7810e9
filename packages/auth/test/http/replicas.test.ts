/** What is revoked is refused at once, though a replica that lags still has it. */
import { action, IsAuthenticated, Router, ViewSet } from '@viewset/core';
import t from 'tap';
import { withReplica } from '../../../core/test/support/replicated-postgres.ts';
import { PASSWORD, startApp } from '../support/app.ts';
import { Account, ApiKey, Identity, Role, Session, TwoFactor } from '../support/entities.ts';
import { CLIENT, Navigator, TestProvider } from '../support/openid.ts';
import { codeOf } from '../support/totp-code.ts';

class Things extends ViewSet {
  override permissionClasses = [IsAuthenticated];
  any = action({}, () => ({}));
}

withReplica(t, 'with a replica that lags', async (t, servers) => {
  const orm = await servers.open({ entities: [Account, ApiKey, Identity, Role, Session, TwoFactor] });
  const provider = await new TestProvider().start(t);
  const options = {
    account: Account,
    apiKeys: ApiKey,
    sessions: Session,
    twoFactor: TwoFactor,
    passwords: {},
    oauth: { identity: Identity, providers: { main: { issuer: provider.issuer, ...CLIENT } } },
  };
  const app = await startApp(t, orm, options, (each) => {
    void each.register(new Router().register('things', Things).plugin);
  });
  await app.addAccount('ann@example.com');
  await servers.freeze();
  const token = await app.login('ann@example.com');
  const headers = { authorization: `Bearer ${token}` };
  const make = async () => {
    const made = await app.post('/auth/api-keys', { name: 'program' }, headers);
    return made.body as unknown as { readonly id: string; readonly key: string };
  };
  const statusOf = async (bearer: string): Promise<number> => (await app.get('/things/any', bearer)).status;

  await t.test('a key that is revoked, and one that was just made', async (t) => {
    const { id, key } = await make();
    t.equal(await statusOf(key), 200, 'the replica has no such key yet');
    t.match((await app.get('/auth/api-keys', token)).body, [{ id }]);
    await servers.freeze();
    t.equal((await app.request('DELETE', `/auth/api-keys/${id}`, { headers })).status, 204);
    t.equal(await statusOf(key), 401, 'the replica still has the key');
  });

  await t.test('a second factor that was just switched on, and a login by a service just after another', async (t) => {
    await app.addAccount('bob@example.com');
    await servers.freeze();
    const credentials = { email: 'bob@example.com', password: PASSWORD };
    const by = { authorization: `Bearer ${await app.login('bob@example.com')}` };
    const begun = await app.request('POST', '/auth/two-factor', { headers: by });
    const code = codeOf(String(begun.body['secret']));
    const confirmed = await app.post('/auth/two-factor/confirm', { code }, by);
    t.equal(confirmed.status, 200, confirmed.text);
    t.strictSame(Object.keys((await app.post('/auth/login', credentials)).body), ['two_factor_token']);

    const path = `${app.app.listeningOrigin}/auth/oauth/main`;
    provider.serve(`${path}/callback`);
    const login = async (email: string): Promise<string[]> => {
      provider.person = { sub: email, email, email_verified: true };
      const browser = new Navigator();
      const answer = await browser.get(await browser.follow(path, `${path}/callback`));
      return Object.keys((await answer.json()) as object);
    };
    t.strictSame(await login('bob@example.com'), ['two_factor_token']);
    for (const time of ['first', 'second']) t.strictSame(await login('new@example.com'), ['access_token'], time);
  });

  await t.test('the key of an account that is disabled, and a session that has ended', async (t) => {
    const { key } = await make();
    await servers.freeze();
    t.strictSame([await statusOf(key), await statusOf(token)], [200, 200]);
    await orm.em.fork().nativeUpdate(Account, { email: 'ann@example.com' }, { is_active: false });
    t.strictSame([await statusOf(key), await statusOf(token)], [401, 401]);
  });
});
