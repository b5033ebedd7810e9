/** The routes of `@viewset/auth` by the client, from the first request of a program on. */
import { IsAuthenticated, ModelViewSet, readShape, Router, serverOptions, viewset } from '@viewset/core';
import { fastify } from 'fastify';
import t from 'tap';
import { auth, type AuthApi } from '../../auth/src/index.ts';
import { Account, Role } from '../../auth/test/support/entities.ts';
import { openSqlite } from '../../core/test/support/databases.ts';
import { type ApiOf, createClient } from '../src/index.ts';

class RoleViewSet extends ModelViewSet(Role, {
  read: readShape(Role, ['id', 'name']),
  permissionClasses: [IsAuthenticated],
}) {}
const router = new Router({ prefix: 'api' }).register('roles', RoleViewSet);

t.test('a program registers, logs in and asks', async (t) => {
  const orm = await openSqlite(t, { entities: [Account, Role] });
  const em = orm.em.fork();
  await em.persist(em.create(Role, { name: 'user' })).flush();
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  const sent: string[] = [];
  await app.register(viewset, { orm });
  await app.register(auth, {
    account: Account,
    secret: 's'.repeat(32),
    bcryptRounds: 4,
    urlPrefix: '/api/auth',
    mailer: { send: async (_recipient, _subject, content) => void sent.push(content) },
  });
  await app.register(router.plugin);
  const session = { token: '' };
  const api = createClient<ApiOf<typeof router> & { auth: AuthApi }>({
    url: `${await app.listen({ port: 0, host: '127.0.0.1' })}/api`,
    token: () => session.token,
  });

  const account = { email: 'ada@example.com', password: 'correct horse' };
  t.match(await api.auth.sendVerificationEmail.post({ email: account.email }), { message: String });
  const code = /\d{6}/.exec(sent[0]!)![0];
  const { user } = await api.auth.register.post({ ...account, name: 'Ada', code });
  t.strictSame([user.email, user.name], [account.email, 'Ada']);
  t.match(await api.roles.list.safe(), { ok: false, status: 401 });
  t.match(await api.auth.login.post.safe({ ...account, password: 'wrong' }), { ok: false, status: 401 });
  session.token = (await api.auth.login.post(account)).access_token;
  t.strictSame((await api.roles.list()).results, [{ id: 1, name: 'user' }]);

  // Written down only, not called.
  const mistakes = async (): Promise<void> => {
    // @ts-expect-error no password
    await api.auth.login.post({ email: 'ada@example.com' });
    // @ts-expect-error no such route
    await api.auth.logon.post(account);
    // @ts-expect-error no such answer
    void (await api.auth.login.post(account)).token;
    // @ts-expect-error the views keep their types
    await api.roles.list({ search: 'x' });
  };
  t.type(mistakes, 'function');
});
