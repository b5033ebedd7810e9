import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryStore } from '@viewset/core';
import { dictionary } from '@zxcvbn-ts/language-common';
import t from 'tap';
import { forEachDatabase, openSqlite } from '../../../core/test/support/databases.ts';
import { PASSWORD, startApp, type Answer, type TestApp } from '../support/app.ts';
import { Account, Role } from '../support/entities.ts';

const entities = [Account, Role];
const NEW = 'battery staple';
const wrong = (code: string): string => (code === '000000' ? '000001' : '000000');
const statuses = (answers: Answer[]): number[] => answers.map(({ status }) => status).toSorted((a, b) => a - b);
const paths = (answer: Answer): string[] =>
  ((answer.body['details'] ?? []) as { path: string }[]).map(({ path }) => path).toSorted();

function change(app: TestApp, token: string, body: object): Promise<Answer> {
  const all = { current_password: PASSWORD, new_password: NEW, ...body };
  return app.post('/auth/change-password', all, { authorization: `Bearer ${token}` });
}

function reset(app: TestApp, body: object): Promise<Answer> {
  return app.post('/auth/reset-password', { new_password: NEW, ...body });
}

/** Asks for a code for a new password, and reads it from the mail that follows the answer. */
async function resetCode(app: TestApp, email: string): Promise<string> {
  const from = app.mailer.mails.length;
  const answer = await app.post('/auth/forgot-password', { email });
  if (answer.status !== 200) throw new Error(answer.text);
  return app.sentCode(from, email.trim().toLowerCase());
}

forEachDatabase(t, { entities }, async (t, orm) => {
  const app = await startApp(t, orm, { passwords: {} });

  t.test('change-password takes the current password and stores a new one', async (t) => {
    await app.addAccount('ann@example.com');
    const token = await app.login('ann@example.com');
    const answer = await change(app, token, {});
    t.match(answer, { status: 204, text: '' });
    t.equal((await app.post('/auth/login', { email: 'ann@example.com', password: PASSWORD })).status, 401);
    t.ok(await app.login('ann@example.com', NEW));
    t.match((await app.stored('ann@example.com'))?.password, /^\$2b\$04\$/);
  });

  t.test('the owner is notified of a new password, without the password', async (t) => {
    await app.addAccount('owner@example.com');
    const token = await app.login('owner@example.com');
    const from = app.mailer.mails.length;
    t.equal((await change(app, token, { current_password: 'wrong' })).status, 400);
    t.equal((await change(app, token, {})).status, 204);
    t.match(await app.mail(from), { recipient: 'owner@example.com', subject: 'Your password was changed' });
    const code = await resetCode(app, 'owner@example.com');
    t.equal((await reset(app, { email: 'owner@example.com', code: wrong(code) })).status, 400);
    t.equal((await reset(app, { email: 'owner@example.com', code })).status, 204);
    const notice = await app.mail(from + 2);
    t.match(notice, { recipient: 'owner@example.com', content: /was reset/ });
    t.notMatch(notice.content, new RegExp(`${NEW}|${code}`));
    t.equal(app.mailer.mails.length, from + 3, 'what failed is told to nobody');
  });

  t.test('change-password names every invalid field, and needs a login', async (t) => {
    await app.addAccount('cid@example.com');
    const token = await app.login('cid@example.com');
    t.equal((await app.post('/auth/change-password', {})).status, 401);
    t.strictSame(paths(await app.post('/auth/change-password', {}, { authorization: `Bearer ${token}` })), [
      '/current_password',
      '/new_password',
    ]);
    for (const new_password of ['short', 'x'.repeat(51), '🔑'.repeat(19), 7, null]) {
      const answer = await change(app, token, { new_password });
      t.equal(answer.status, 400);
      t.strictSame(paths(answer), ['/new_password'], String(new_password));
    }
    const answer = await change(app, token, { current_password: 'wrong' });
    t.match(answer, { status: 400, body: { code: 'invalid_usage' } });
    t.strictSame(paths(answer), ['/current_password']);
    t.ok(await app.login('cid@example.com'), 'nothing has changed');
  });

  t.test('wrong current passwords count as wrong passwords of the account', async (t) => {
    await app.addAccount('held@example.com');
    const token = await app.login('held@example.com');
    for (let round = 0; round < 10; round++) {
      t.equal((await change(app, token, { current_password: 'wrong' })).status, 400);
    }
    t.equal((await change(app, token, {})).status, 429, 'the right one too');
    t.equal((await app.post('/auth/login', { email: 'held@example.com', password: PASSWORD })).status, 429);
  });

  t.test('of many concurrent changes exactly one succeeds', async (t) => {
    await app.addAccount('many@example.com');
    const token = await app.login('many@example.com');
    const passwords = Array.from({ length: 6 }, (_, index) => `new password ${index}`);
    const answers = await Promise.all(passwords.map((new_password) => change(app, token, { new_password })));
    t.strictSame(statuses(answers), [204, 400, 400, 400, 400, 400]);
    const winner = passwords[answers.findIndex(({ status }) => status === 204)]!;
    t.ok(await app.login('many@example.com', winner));
  });

  t.test('a code that was sent to the address resets the password, once', async (t) => {
    await app.addAccount('bob@example.com');
    const code = await resetCode(app, ' Bob@Example.com');
    t.match(await reset(app, { email: 'BOB@example.com', code }), { status: 204, text: '' });
    t.ok(await app.login('bob@example.com', NEW));
    t.equal((await app.post('/auth/login', { email: 'bob@example.com', password: PASSWORD })).status, 401);
    const again = await reset(app, { email: 'bob@example.com', code, new_password: 'another one' });
    t.equal(again.status, 400);
    t.strictSame(paths(again), ['/code']);
  });

  t.test('forgot-password returns the same for every address, and mails active accounts', async (t) => {
    await app.addAccount('known@example.com');
    await app.addAccount('off@example.com', { is_active: false });
    const from = app.mailer.mails.length;
    const answers: Answer[] = [];
    for (const email of ['known@example.com', 'off@example.com', 'nobody@example.com']) {
      answers.push(await app.post('/auth/forgot-password', { email }));
    }
    t.strictSame(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size, 1);
    t.equal(answers[0]?.status, 200);
    await app.mail(from);
    t.strictSame(
      app.mailer.mails.slice(from).map(({ recipient }) => recipient),
      ['known@example.com'],
    );
    t.equal((await app.post('/auth/forgot-password', { email: 'x' })).status, 400);
    for (const email of ['known@example.com', 'nobody@example.com']) {
      for (let send = 0; send < 4; send++) await app.post('/auth/forgot-password', { email });
      t.equal((await app.post('/auth/forgot-password', { email })).status, 429, email);
    }
  });

  t.test('a code for registration cannot reset a password, and vice versa', async (t) => {
    const email = 'purpose@example.com';
    await app.addAccount(email);
    const forRegistration = await app.code(email);
    t.strictSame(paths(await reset(app, { email, code: forRegistration })), ['/code']);
    const forReset = await resetCode(app, email);
    const registration = { email, password: NEW, name: 'Ann', code: forReset };
    t.strictSame(paths(await app.post('/auth/register', registration)), ['/code']);
    t.equal((await reset(app, { email, code: forReset })).status, 204, 'that try did not count');
  });

  t.test('reset-password names every invalid field; five wrong attempts void the code', async (t) => {
    const email = 'tries@example.com';
    await app.addAccount(email);
    t.strictSame(paths(await app.post('/auth/reset-password', {})), ['/email', '/new_password']);
    t.strictSame(paths(await reset(app, { email })), ['/code']);
    t.strictSame(paths(await reset(app, { email, code: null })), ['/code']);
    t.strictSame(paths(await reset(app, { email, code: '000000', new_password: '🔑'.repeat(19) })), ['/new_password']);
    const code = await resetCode(app, email);
    const known = await reset(app, { email, code: wrong(code) });
    t.equal(known.text, (await reset(app, { email: 'nobody2@example.com', code: '000000' })).text);
    for (let round = 0; round < 4; round++) await reset(app, { email, code: wrong(code) });
    t.equal((await reset(app, { email, code })).status, 400);
    t.ok(await app.login(email), 'the password is as it was');
  });

  t.test('of many concurrent resets with one code, exactly one succeeds', async (t) => {
    const email = 'race@example.com';
    await app.addAccount(email);
    const code = await resetCode(app, email);
    const answers = await Promise.all(Array.from({ length: 12 }, () => reset(app, { email, code })));
    t.strictSame(statuses(answers), [204, ...Array<number>(11).fill(400)]);
  });

  t.test('a code is nothing to an account that was disabled meanwhile', async (t) => {
    const email = 'disabled@example.com';
    await app.addAccount(email);
    const code = await resetCode(app, email);
    await orm.em.fork().nativeUpdate(Account, { email }, { is_active: false });
    t.strictSame(paths(await reset(app, { email, code })), ['/code']);
  });

  t.test('a changed password voids the code that was sent before', async (t) => {
    const email = 'voids@example.com';
    await app.addAccount(email);
    const code = await resetCode(app, email);
    t.equal((await change(app, await app.login(email), {})).status, 204);
    t.equal((await reset(app, { email, code, new_password: 'of a thief' })).status, 400);
  });
});

t.test('a failure of the mailer is not visible in the response, the code is revoked and the log says so', async (t) => {
  const app = await startApp(t, await openSqlite(t, { entities }), { passwords: {} });
  await app.addAccount('ann@example.com');
  app.mailer.failure = new Error('no server');
  const answer = await app.post('/auth/forgot-password', { email: 'ann@example.com' });
  const none = await app.post('/auth/forgot-password', { email: 'nobody@example.com' });
  t.equal(answer.status, 200);
  t.equal(answer.text, none.text);
  for (let wait = 0; app.mailer.failed === 0 && wait < 500; wait++) await sleep(10);
  await sleep(20);
  app.mailer.failure = undefined;
  for (let send = 0; send < 5; send++) await resetCode(app, 'ann@example.com');
});

t.test('the text of the notice can be replaced, and a mailer is optional', async (t) => {
  const orm = await openSqlite(t, { entities });
  const passwordChangeNotice = async (how: string) => ({
    subject: `Neu: ${how}`,
    content: '<b>Hallo</b>',
    isHtml: true,
  });
  const app = await startApp(t, orm, { passwords: {}, passwordChangeNotice });
  await app.addAccount('ann@example.com');
  const token = await app.login('ann@example.com');
  app.mailer.delayMs = 300;
  const began = performance.now();
  t.equal((await change(app, token, {})).status, 204);
  t.ok(performance.now() - began < 300, 'the answer does not wait for the mail');
  t.strictSame(await app.mail(0), {
    recipient: 'ann@example.com',
    subject: 'Neu: changed',
    content: '<b>Hallo</b>',
    isHtml: true,
  });
  const routes = ['login', 'change-password'] as const;
  const silent = await startApp(t, orm, { passwords: {}, routes, mailer: undefined } as never);
  const again = await silent.login('ann@example.com', NEW);
  t.equal((await change(silent, again, { current_password: NEW, new_password: PASSWORD })).status, 204);
});

t.test('a mail that is under way when the application closes is sent first', async (t) => {
  const app = await startApp(t, await openSqlite(t, { entities }), { passwords: {} });
  await app.addAccount('ann@example.com');
  app.mailer.delayMs = 300;
  await app.post('/auth/forgot-password', { email: 'ann@example.com' });
  await app.app.close();
  t.equal(app.mailer.mails.length, 1);
  t.equal(app.mailer.closed, 1);
});

t.test('lengths and common passwords by option, in every route', async (t) => {
  const passwords = { minLength: 12, maxLength: 14, commonPasswords: ['Password12345', 'qwerty'] };
  const app = await startApp(t, await openSqlite(t, { entities }), { passwords });
  await app.addAccount('ann@example.com');
  const token = await app.login('ann@example.com');
  const code = await resetCode(app, 'ann@example.com');
  const account = { email: 'new@example.com', name: 'New', code: '000000' };
  const routes: [string, (password: string) => Promise<Answer>][] = [
    ['/password', (password) => app.post('/auth/register', { ...account, password })],
    ['/new_password', (new_password) => change(app, token, { new_password })],
    ['/new_password', (new_password) => reset(app, { email: 'ann@example.com', code, new_password })],
  ];
  for (const [path, send] of routes) {
    for (const [password, message] of [
      ['x'.repeat(11), 'must be at least 12 characters'],
      ['x'.repeat(15), 'must be at most 14 characters'],
      ['PASSWORD12345', 'is too common'],
    ] as const) {
      const answer = await send(password);
      t.equal(answer.status, 400);
      t.strictSame(answer.body['details'], [{ in: 'body', path, message }]);
    }
  }
  t.equal((await reset(app, { email: 'ann@example.com', code, new_password: 'twelve chars' })).status, 204);
});

t.test('a list of tens of thousands of passwords serves', async (t) => {
  const passwords = { commonPasswords: dictionary['passwords-common'] };
  const app = await startApp(t, await openSqlite(t, { entities }), { passwords });
  await app.addAccount('ann@example.com');
  const token = await app.login('ann@example.com');
  for (const new_password of ['password123', 'QWERTYUIOP', 'letmein123']) {
    t.strictSame(paths(await change(app, token, { new_password })), ['/new_password'], new_password);
  }
  t.equal((await change(app, token, {})).status, 204);
});

t.test('a function may decide which passwords are common, with the owner of the password', async (t) => {
  const asked: unknown[] = [];
  const commonPasswords = async (password: string, owner: object): Promise<boolean> => {
    asked.push([password, owner]);
    return password.includes('ann');
  };
  const app = await startApp(t, await openSqlite(t, { entities }), { passwords: { commonPasswords } });
  await app.addAccount('ann@example.com');
  const token = await app.login('ann@example.com');
  t.strictSame(paths(await change(app, token, { new_password: 'ann loves tea' })), ['/new_password']);
  t.match(asked, [['ann loves tea', { email: 'ann@example.com', name: 'Ann' }]]);
});

t.test('the routes are off without their option, and each can be left out', async (t) => {
  const orm = await openSqlite(t, { entities });
  const app = await startApp(t, orm, { store: new MemoryStore() });
  t.equal((await app.post('/auth/forgot-password', { email: 'ann@example.com' })).status, 404);
  const some = await startApp(t, orm, { passwords: {}, routes: ['login', 'change-password'] });
  t.equal((await some.post('/auth/change-password', {})).status, 401);
  t.equal((await some.post('/auth/forgot-password', {})).status, 404);
});
