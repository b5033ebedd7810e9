import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { forEachDatabase } from '../../../core/test/support/databases.ts';
import { PASSWORD, startApp } from '../support/app.ts';
import { Account, Role } from '../support/entities.ts';
import { watchComparisons } from '../support/comparisons.ts';

const LOGIN = '/auth/login';

function claimsOf(token: unknown): Record<string, unknown> {
  return JSON.parse(Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;
}

forEachDatabase(t, { entities: [Account, Role] }, async (t, orm) => {
  const app = await startApp(t, orm, { expirationDelta: 90 });
  const role = await app.addRole('editor');
  const ann = await app.addAccount('ann@example.com', { role });
  const off = await app.addAccount('off@example.com', { is_active: false });

  t.test('the right password gives a token, and nothing but a token', async (t) => {
    const answer = await app.post(LOGIN, { email: ' ANN@example.com\n', password: PASSWORD, is_active: false });
    t.equal(answer.status, 200);
    t.strictSame(Object.keys(answer.body), ['access_token']);
    const { iat, exp, ...claims } = claimsOf(answer.body['access_token']);
    t.strictSame(claims, { user_id: ann.id, username: 'Ann', email: 'ann@example.com', role: 'editor' });
    t.equal(Number(exp) - Number(iat), 90);
    const me = await app.get('/me', String(answer.body['access_token']));
    t.strictSame(me.body['user'], {
      id: ann.id,
      email: 'ann@example.com',
      name: 'Ann',
      is_active: true,
      role: { id: role.id, name: 'editor' },
    });
  });

  t.test('an account without a role is a user', async (t) => {
    await app.addAccount('roleless@example.com');
    const token = await app.login('roleless@example.com');
    t.equal(claimsOf(token)['role'], 'user');
    t.match((await app.get('/me', token)).body, { user: { role: null } });
  });

  t.test('whatever is wrong with the credentials, the answer is one and the same', async (t) => {
    const answers = await Promise.all(
      [
        {},
        { email: 'ann@example.com' },
        { password: PASSWORD },
        { email: null, password: PASSWORD },
        { email: 'ann@example.com', password: null },
        { email: '', password: PASSWORD },
        { email: ' ', password: PASSWORD },
        { email: 'ann@example.com', password: '' },
        { email: 'ann@example.com', password: `${PASSWORD} ` },
        { email: 'ann@example.com', password: PASSWORD.toUpperCase() },
        { email: 'ann@example.com', password: 'x'.repeat(73) },
        { email: 'ann@example.com', password: 'é'.repeat(40) },
        { email: 'ann@example.com', password: 'x'.repeat(200_000) },
        { email: 'nobody@example.com', password: PASSWORD },
        { email: `${'x'.repeat(200_000)}@example.com`, password: PASSWORD },
        { email: "ann@example.com' or '1'='1", password: PASSWORD },
        { email: '%@example.com', password: PASSWORD },
        { email: 'off@example.com', password: 'wrong' },
      ].map((body) => app.post(LOGIN, body)),
    );
    for (const answer of answers) {
      t.equal(answer.status, 401);
      t.equal(answer.headers.get('www-authenticate'), 'Bearer');
      t.equal(answer.text, answers[0]?.text);
    }
    t.match(answers[0]?.body, { code: 'unauthorized', error: String });
  });

  t.test('that an account is disabled is told to whoever has its password', async (t) => {
    const answer = await app.post(LOGIN, { email: 'off@example.com', password: PASSWORD });
    t.match(answer, { status: 401, body: { code: 'unauthorized', error: /disabled/ } });
    t.equal((await app.stored('off@example.com'))?.last_login, null);
    t.ok(off.id);
  });

  t.test('what is no text is a 400 that names it, and so is what no database keeps', async (t) => {
    for (const value of [1, true, [], {}, ['ann@example.com'], { $ne: null }, 'a\0b', '\ud800']) {
      const answer = await app.post(LOGIN, { email: value, password: value });
      t.match(answer, { status: 400, body: { code: 'invalid_usage' } }, JSON.stringify(value));
      t.strictSame(
        (answer.body['details'] as unknown as { path: string }[]).map(({ path }) => path),
        ['/email', '/password'],
      );
    }
    t.match(await app.post(LOGIN, { email: 1 }), { status: 400 }, 'although the password is missing');
    for (const body of ['[]', 'null', '"x"', '1']) {
      t.match(await app.request('POST', LOGIN, { body }), { status: 400, body: { code: 'invalid_usage' } }, body);
    }
    for (const body of ['{', '', '\ufeff']) t.match(await app.request('POST', LOGIN, { body }), { status: 400 }, body);
    t.match(await app.request('POST', LOGIN), { status: 400, body: { code: 'parse_error' } }, 'no body');
    t.match(await app.request('POST', LOGIN, { body: 'x', headers: { 'content-type': 'text/plain' } }), {
      status: 415,
    });
  });

  t.test('last_login is set by a success, and nothing else is touched', async (t) => {
    await app.addAccount('last@example.com');
    await app.post(LOGIN, { email: 'last@example.com', password: 'wrong' });
    t.equal((await app.stored('last@example.com'))?.last_login, null);
    const [before, started] = [await app.stored('last@example.com'), Date.now()];
    await sleep(2);
    await app.login('last@example.com');
    const { last_login, ...rest } = (await app.stored('last@example.com'))!;
    t.ok(last_login! >= new Date(started) && last_login! <= new Date());
    t.match(rest, { email: before?.email, password: before?.password, created_at: before?.created_at });
  });

  t.test('many at once', async (t) => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        app.post(LOGIN, { email: 'ann@example.com', password: index % 2 === 0 ? PASSWORD : 'x' }),
      ),
    );
    t.equal(answers.filter(({ status }) => status === 200).length, 20);
    t.equal(answers.filter(({ status }) => status === 401).length, 20);
  });
});

t.test('an unknown address, a wrong password and one too long cost one comparison of the same cost each', async (t) => {
  forEachDatabase(t, { entities: [Account, Role], only: ['sqlite'] }, async (t, orm) => {
    const app = await startApp(t, orm, { bcryptRounds: 5 });
    await app.addAccount('ann@example.com');
    const comparisons = watchComparisons(t);
    for (const body of [
      { email: 'ann@example.com', password: 'wrong' },
      { email: 'nobody@example.com', password: 'wrong' },
      { email: 'ann@example.com', password: 'x'.repeat(100) },
      { email: '', password: 'x' },
    ]) {
      comparisons.length = 0;
      t.equal((await app.post(LOGIN, body)).status, 401);
      t.same(comparisons, ['$2b$05$'], JSON.stringify(body));
    }
  });
});
