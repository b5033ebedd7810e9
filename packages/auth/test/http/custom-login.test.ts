import t from 'tap';
import { forEachDatabase, openSqlite } from '../../../core/test/support/databases.ts';
import { PASSWORD, startApp } from '../support/app.ts';
import { Account, Role } from '../support/entities.ts';

const entities = [Account, Role];

t.test('the option "routes" selects the routes', async (t) => {
  const app = await startApp(t, await openSqlite(t, { entities }), { routes: ['login'] });
  t.equal((await app.post('/auth/login', {})).status, 401);
  t.equal((await app.post('/auth/register', {})).status, 404);
  t.equal((await app.post('/auth/send-verification-email', {})).status, 404);
  const none = await startApp(t, await openSqlite(t, { entities }), { routes: [] });
  t.equal((await none.post('/auth/login', {})).status, 404);
});

forEachDatabase(t, { entities }, async (t, orm) => {
  const app = await startApp(t, orm, { routes: [] }, (app) => {
    app.post<{ Body: { user: { email: string; password: string } } }>(
      '/users/login',
      { config: { public: true } },
      async (request, reply) => {
        const { email, password } = request.body.user;
        const account = await app.auth.verifyLogin(request, email, password);
        return { user: { name: account.name, ...(await app.auth.completeLogin(request, reply, account)) } };
      },
    );
  });
  const login = (email: string, password: string) => app.post('/users/login', { user: { email, password } });

  t.test('a login route of the application has all that the package has: limit, message, last_login', async (t) => {
    await app.addAccount('ann@example.com');
    await app.addAccount('off@example.com', { is_active: false });
    const answer = await login(' Ann@example.com', PASSWORD);
    t.match(answer, { status: 200, body: { user: { name: 'Ann' } } });
    const { access_token } = (answer.body as unknown as { user: { access_token: string } }).user;
    t.equal((await app.get('/me', access_token)).status, 200);
    t.type((await app.stored('ann@example.com'))?.last_login, Date);
    t.match(await login('off@example.com', PASSWORD), { status: 401, body: { error: 'The account is disabled' } });
    const wrong = await login('ann@example.com', 'wrong');
    t.match(wrong, { status: 401, body: { error: 'The e-mail address or the password is not correct' } });
    for (const email of ['', 'nobody\0@example.com', `${'x'.repeat(5000)}@example.com`]) {
      t.match(await login(email, PASSWORD), { status: 401, body: { error: wrong.body.error } }, email.slice(0, 10));
    }
    t.equal((await login('ann@example.com', '')).body.error, wrong.body.error);
    for (let more = 0; more < 9; more++) await login('ann@example.com', 'wrong');
    t.equal((await login('ann@example.com', PASSWORD)).status, 429);
  });
});
