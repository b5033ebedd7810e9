/** What is revoked is refused at once, though a replica that lags still has it. */
import { action, IsAuthenticated, Router, ViewSet } from '@viewset/core';
import t from 'tap';
import { withReplica } from '../../../core/test/support/replicated-postgres.ts';
import { startApp } from '../support/app.ts';
import { Account, ApiKey, Role, Session } from '../support/entities.ts';

class Things extends ViewSet {
  override permissionClasses = [IsAuthenticated];
  any = action({}, () => ({}));
}

withReplica(t, 'with a replica that lags', async (t, servers) => {
  const orm = await servers.open({ entities: [Account, ApiKey, Role, Session] });
  const options = { account: Account, apiKeys: ApiKey, sessions: Session };
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
    await servers.freeze();
    t.equal((await app.request('DELETE', `/auth/api-keys/${id}`, { headers })).status, 204);
    t.equal(await statusOf(key), 401, 'the replica still has the key');
  });

  await t.test('the key of an account that is disabled, and a session that has ended', async (t) => {
    const { key } = await make();
    await servers.freeze();
    t.strictSame([await statusOf(key), await statusOf(token)], [200, 200]);
    await orm.em.fork().nativeUpdate(Account, { email: 'ann@example.com' }, { is_active: false });
    t.strictSame([await statusOf(key), await statusOf(token)], [401, 401]);
  });
});
