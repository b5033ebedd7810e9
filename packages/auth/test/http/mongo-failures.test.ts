import t from 'tap';
import { withMongoServer } from '../../../core/test/support/with-mongo-server.ts';
import { PASSWORD, startApp } from '../support/app.ts';
import { Account, Role } from '../support/entities.ts';

withMongoServer(t, 'registration on a MongoDB that fails', { hasFailPoints: true }, async (t, mongo) => {
  const orm = await mongo.open({ entities: [Account, Role] });
  const app = await startApp(t, orm);
  await app.addRole('user');
  const lost = { errorCode: 112, errorLabels: ['TransientTransactionError'] };

  for (const [what, command, how] of [
    ['an insert that loses a race', 'insert', lost],
    ['a commit that loses a race', 'commitTransaction', lost],
    ['a commit whose outcome is unknown', 'commitTransaction', { closeConnection: true }],
  ] as const) {
    t.test(`${what} is repeated`, async (t) => {
      const email = `${what.replaceAll(' ', '-')}@example.com`;
      const code = await app.code(email);
      await mongo.fail([command], 4, how);
      const answer = await app.post('/auth/register', { email, password: PASSWORD, name: 'Ann', code });
      t.equal(answer.status, 201, answer.text);
      t.match(await app.stored(email), { name: 'Ann', role: { name: 'user' } });
      t.equal(await orm.em.fork().count(Account, { email }), 1);
      t.ok(await app.login(email), 'the password was hashed once');
    });
  }

  t.test('a commit that loses every attempt returns 409, and the code can be used again', async (t) => {
    const email = 'later@example.com';
    const code = await app.code(email);
    const body = { email, password: PASSWORD, name: 'Ann', code };
    await mongo.fail(['commitTransaction'], 10_000, lost);
    const refused = await app.post('/auth/register', body);
    await mongo.fail(['commitTransaction'], 0, lost);
    t.match(refused, { status: 409, body: { code: 'conflict' } });
    t.equal(await app.stored(email), null);
    t.equal((await app.post('/auth/register', body)).status, 201);
  });
});
