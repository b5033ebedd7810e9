import { setTimeout as sleep } from 'node:timers/promises';
import bcrypt from '@node-rs/bcrypt';
import t from 'tap';
import { forEachDatabase } from '../../../core/test/support/databases.ts';
import { PasswordHasher } from '../../src/index.ts';
import { type Answer, PASSWORD, startApp } from '../support/app.ts';
import { Account, Role } from '../support/entities.ts';
import { failHashes, watchComparisons } from '../support/comparisons.ts';

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

  t.test('every kind of wrong credentials gets the same response', async (t) => {
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
        { email: 'nobody@example.com', password: PASSWORD },
        { email: 'nobody@example.com', password: 'x'.repeat(8000) },
        { email: `${'x'.repeat(8000)}@example.com`, password: PASSWORD },
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

  t.test('a disabled account is reported only with the right password', async (t) => {
    const answer = await app.post(LOGIN, { email: 'off@example.com', password: PASSWORD });
    t.match(answer, { status: 401, body: { code: 'unauthorized', error: /disabled/ } });
    t.equal((await app.stored('off@example.com'))?.last_login, null);
    t.ok(off.id);
  });

  t.test('values that are not text, or that no database stores, return 400 with the field', async (t) => {
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
    const emails = ['one@example.com', 'two@example.com', 'three@example.com', 'four@example.com'];
    for (const email of emails) await app.addAccount(email);
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        app.post(LOGIN, { email: emails[index % 4], password: index % 8 < 4 ? PASSWORD : 'x' }),
      ),
    );
    t.equal(answers.filter(({ status }) => status === 200).length, 20);
    t.equal(answers.filter(({ status }) => status === 401).length, 20);
  });
});

t.test('a body that is longer than any documented one is refused before anything is hashed', async (t) => {
  forEachDatabase(t, { entities: [Account, Role], only: ['sqlite'] }, async (t, orm) => {
    const app = await startApp(t, orm);
    const comparisons = watchComparisons(t);
    for (const path of [LOGIN, '/auth/register', '/auth/send-verification-email']) {
      const body = { email: 'ann@example.com', password: 'x'.repeat(60_000), name: 'Ann', code: '123456' };
      t.match(await app.post(path, body), { status: 413, body: { code: 'payload_too_large' } }, path);
      t.equal((await app.request('POST', path, { body: `{"email":"${'x'.repeat(60_000)}` })).status, 413, 'malformed');
    }
    t.strictSame(comparisons, []);
    t.strictSame(app.mailer.mails, []);
    const longest = {
      email: `a@${'x'.repeat(60)}.example.com`,
      password: '\u{1f600}'.repeat(18),
      name: '\u{1f600}'.repeat(100),
    };
    const code = await app.code(longest.email);
    const escaped = JSON.stringify({ ...longest, code }).replaceAll(
      /[^\0-\x7f]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    t.equal(
      (await app.request('POST', '/auth/register', { body: escaped })).status,
      201,
      'a good one fits, escaped too',
    );
  });
});

t.test('responses of the three routes are not cached', async (t) => {
  forEachDatabase(t, { entities: [Account, Role], only: ['sqlite'] }, async (t, orm) => {
    const app = await startApp(t, orm);
    await app.addAccount('ann@example.com');
    for (const [path, body] of [
      [LOGIN, { email: 'ann@example.com', password: PASSWORD }],
      [LOGIN, { email: 'ann@example.com', password: 'wrong' }],
      [LOGIN, { email: 5 }],
      ['/auth/register', {}],
      ['/auth/send-verification-email', { email: 'ann@example.com' }],
    ] as const) {
      const { headers, status } = await app.post(path, body);
      t.equal(headers.get('cache-control'), 'no-store', `${path} ${status}`);
    }
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

t.test('after a change of the rounds, the cost of a login is the same for every address', async (t) => {
  forEachDatabase(t, { entities: [Account, Role] }, async (t, orm) => {
    const comparisons = watchComparisons(t);
    const app = await startApp(t, orm, { bcryptRounds: 7 });
    const old = await new PasswordHasher({ rounds: 4 }).hash(PASSWORD);
    for (const email of ['old@example.com', 'new@example.com']) await app.addAccount(email);
    const em = orm.em.fork();
    await em.nativeUpdate(Account, { email: 'old@example.com' }, { password: old });
    await em.nativeUpdate(
      Account,
      { email: 'new@example.com' },
      { password: await new PasswordHasher({ rounds: 7 }).hash('x') },
    );
    const spent = async (email: string, password: string): Promise<number> => {
      comparisons.length = 0;
      t.equal((await app.post(LOGIN, { email, password })).status, 401);
      return comparisons.reduce((sum, start) => sum + 2 ** Number(start.slice(4, 6)), 0);
    };
    for (const password of ['wrong', 'x'.repeat(73)]) {
      for (const email of ['old@example.com', 'new@example.com', 'nobody@example.com', '']) {
        t.equal(await spent(email, password), 2 ** 7, `${email} ${password.length}`);
      }
    }
    for (const email of ['old@example.com', 'nobody@example.com']) {
      t.equal(await spent(email, 'wro\u0308ng'), 2 ** 8, 'a password that is normalized is compared in both forms');
    }

    await em.nativeUpdate(
      Account,
      { email: 'new@example.com' },
      { password: await new PasswordHasher({ rounds: 8 }).hash('x') },
    );
    await spent('new@example.com', 'wrong');
    for (const email of ['old@example.com', 'new@example.com', 'nobody@example.com']) {
      t.equal(await spent(email, 'wrong'), 2 ** 8, `${email}, once a hash of more rounds has been seen`);
    }
  });
});

t.test('a login renews a hash of fewer rounds, and no other', async (t) => {
  forEachDatabase(t, { entities: [Account, Role] }, async (t, orm) => {
    const app = await startApp(t, orm, { bcryptRounds: 6 });
    await app.addAccount('ann@example.com');
    const set = async (rounds: number): Promise<string> => {
      const password = await new PasswordHasher({ rounds }).hash(PASSWORD);
      await orm.em.fork().nativeUpdate(Account, { email: 'ann@example.com' }, { password });
      return password;
    };
    const stored = async (): Promise<string> => (await app.stored('ann@example.com'))!.password;
    const old = await set(5);
    t.equal((await app.post(LOGIN, { email: 'ann@example.com', password: 'wrong' })).status, 401);
    t.equal(await stored(), old, 'a wrong password renews nothing');
    await app.login('ann@example.com');
    const renewed = await stored();
    t.match(renewed, /^\$2b\$06\$/);
    t.ok(await app.login('ann@example.com'), 'the password is the same');
    t.equal(await stored(), renewed, 'a hash of as many rounds stays');
    const dearer = await set(7);
    await app.login('ann@example.com');
    t.equal(await stored(), dearer, 'and one of more rounds too');
    await set(5);
    const restore = failHashes(t);
    t.ok(await app.login('ann@example.com'), 'a hash that cannot be renewed lets in all the same');
    restore();
  });
});

t.test('a password in another Unicode form is the same password', async (t) => {
  forEachDatabase(t, { entities: [Account, Role] }, async (t, orm) => {
    const app = await startApp(t, orm);
    const [composed, decomposed] = ['caf\u00e9 noir', 'cafe\u0301\u00a0noir'];
    const logIn = async (email: string, password: string): Promise<number> =>
      (await app.post(LOGIN, { email, password })).status;
    const register = async (email: string, password: string): Promise<Answer> =>
      app.post('/auth/register', { email, password, name: 'Ann', code: await app.code(email) });
    for (const [email, first, second] of [
      ['nfc@example.com', composed, decomposed],
      ['nfd@example.com', decomposed, composed],
    ] as const) {
      t.equal((await register(email, first)).status, 201);
      t.equal(await logIn(email, first), 200, `${email}, as registered`);
      t.equal(await logIn(email, second), 200, `${email}, in the other form`);
      t.equal(await logIn(email, 'cafe noir'), 401, 'another password');
      t.equal(await logIn(email, composed.toUpperCase()), 401, 'case is kept');
    }

    const before = await bcrypt.hash(decomposed, 4);
    await app.addAccount('before@example.com');
    await orm.em.fork().nativeUpdate(Account, { email: 'before@example.com' }, { password: before });
    t.equal(await logIn('before@example.com', decomposed), 200, 'a hash from before passwords were normalized');
    t.equal(await logIn('before@example.com', composed), 200, 'which that login has renewed');

    const long = 'e\u0301'.repeat(36);
    t.equal((await register('long@example.com', long)).status, 201, '108 bytes and 72 characters, composed 72 and 36');
    t.equal(await logIn('long@example.com', 'é'.repeat(36)), 200);
    t.match(await register('short@example.com', 'e\u0301'.repeat(5)), { status: 400 }, 'ten characters, composed five');
  });
});
