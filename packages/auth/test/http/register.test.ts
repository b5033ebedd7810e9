import bcrypt from '@node-rs/bcrypt';
import t from 'tap';
import { forEachDatabase, openSqlite } from '../../../core/test/support/databases.ts';
import { MemoryStore, serverOptions, viewset } from '@viewset/core';
import fastify from 'fastify';
import { auth } from '../../src/index.ts';
import { MailBox, PASSWORD, SECRET, startApp, type Answer, type TestApp } from '../support/app.ts';
import { Account, Role } from '../support/entities.ts';

const REGISTER = '/auth/register';
const wrong = (code: string): string => (code === '000000' ? '000001' : '000000');

function register(app: TestApp, body: object): Promise<Answer> {
  return app.post(REGISTER, { email: 'ann@example.com', password: PASSWORD, name: 'Ann', ...body });
}

function paths(answer: Answer): string[] {
  return ((answer.body['details'] ?? []) as { path: string }[]).map(({ path }) => path).toSorted();
}

forEachDatabase(t, { entities: [Account, Role] }, async (t, orm) => {
  const store = new MemoryStore();
  const app = await startApp(t, orm, { store });

  t.test('an account without a role, while no role has the name', async (t) => {
    const code = await app.code('first@example.com');
    t.equal((await register(app, { email: 'first@example.com', code })).status, 201);
    t.equal((await app.stored('first@example.com'))?.role, null);
    await app.addRole('user');
  });

  t.test('the code that was sent makes an account, once', async (t) => {
    const code = await app.code(' Ann@Example.com ');
    const extra = { id: 777, role: 1, is_active: false, last_login: '2020-01-01', created_at: '2020-01-01' };
    const answer = await register(app, { email: 'ANN@example.com ', name: 'Änn 💩', code, ...extra });
    t.equal(answer.status, 201);
    const account = await app.stored('ann@example.com');
    const user = { id: account?.id, email: 'ann@example.com', name: 'Änn 💩' };
    t.strictSame(answer.body, { message: String(answer.body['message']), user });
    t.match(account, { is_active: true, last_login: null, role: { name: 'user' } });
    t.not(account?.id, 777);
    t.match(account?.password, /^\$2b\$04\$/);
    t.ok(await bcrypt.compare(PASSWORD, account?.password ?? ''));
    t.ok(await app.login('ann@example.com'));
    t.match(await register(app, { code }), { status: 400, body: { code: 'invalid_usage' } });
  });

  t.test('the shape is checked first, all of it', async (t) => {
    const wrongValues: [string, unknown[]][] = [
      [
        'email',
        [
          undefined,
          null,
          1,
          '',
          ' ',
          'x',
          'a@b',
          'a b@c.de',
          'a@b.co\r\nBcc: c@d.ef',
          `${'x'.repeat(250)}@b.co`,
          'a\0@b.co',
          '\ud800@b.co',
        ],
      ],
      [
        'password',
        [
          undefined,
          null,
          123456,
          '',
          '12345',
          'x'.repeat(51),
          '💩'.repeat(5),
          '💩'.repeat(19),
          'abc\0def',
          '\udfffabcdef',
        ],
      ],
      ['name', [undefined, null, 1, '', 'x'.repeat(101), '💩'.repeat(101), 'a\0', '\ud800']],
    ];
    for (const [field, values] of wrongValues) {
      for (const value of values) {
        const answer = await register(app, { [field]: value });
        t.equal(answer.status, 400, `${field} ${JSON.stringify(value)?.slice(0, 40)}`);
        t.strictSame(paths(answer), [`/${field}`], answer.text);
      }
    }
    t.strictSame(paths(await app.post(REGISTER, { email: 'x', password: 'x'.repeat(80), code: 1 })), [
      '/email',
      '/name',
      '/password',
    ]);
    for (const body of [
      { password: '💩'.repeat(18) },
      { password: 'x'.repeat(50) },
      { name: '💩'.repeat(100) },
      { password: '      ' },
    ]) {
      t.strictSame(
        paths(await register(app, { ...body, code: '000000' })),
        ['/code'],
        JSON.stringify(body).slice(0, 30),
      );
    }
  });

  t.test('then the code, which is required and must be right', async (t) => {
    for (const code of [
      undefined,
      null,
      '',
      123456,
      ['123456'],
      {},
      '12345',
      '1234567',
      'x'.repeat(10_000),
      ' 123456',
      '１２３４５６',
      '1\0',
    ]) {
      const answer = await register(app, { email: 'codeless@example.com', code });
      t.equal(answer.status, 400, JSON.stringify(code)?.slice(0, 30));
      t.strictSame(paths(answer), ['/code']);
    }
  });

  t.test('without the code, a registered address looks like any other', async (t) => {
    const [registered, unknown] = await Promise.all(
      ['ann@example.com', 'nobody@example.com'].map((email) => register(app, { email, code: '000000' })),
    );
    t.equal(registered?.text, unknown?.text);
    const code = await app.code('ann@example.com');
    const answer = await register(app, { code });
    t.match(answer, { status: 400, body: { code: 'invalid_usage', error: /already registered/ } });
    t.strictSame(paths(answer), ['/email']);
    t.equal((await register(app, { code })).text, answer.text, 'the code has not been used up by that');
  });

  t.test('five wrong tries void the code, four do not', async (t) => {
    const email = 'tries@example.com';
    const void5 = await app.code(email);
    for (let tries = 0; tries < 5; tries++) await register(app, { email, code: wrong(void5) });
    t.equal((await register(app, { email, code: void5 })).status, 400);
    const good = await app.code(email);
    for (let tries = 0; tries < 4; tries++) await register(app, { email, code: wrong(good) });
    t.equal((await register(app, { email, code: good })).status, 201);
  });

  t.test('of many concurrent registrations with one code, one succeeds and the others get 400', async (t) => {
    const email = 'race@example.com';
    const code = await app.code(email);
    const answers = await Promise.all(Array.from({ length: 12 }, () => register(app, { email, code })));
    t.strictSame(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [201, ...Array<number>(11).fill(400)],
    );
    t.equal(await orm.em.fork().count(Account, { email }), 1);
  });

  t.test('an address that is taken meanwhile returns 400, and the code can be used again', async (t) => {
    const email = 'between@example.com';
    const code = await app.code(email);
    const em = orm.em.fork();
    // The insert of another transaction is in the way, which the query before could not see.
    const rival = app.addAccount(email);
    const answers = await Promise.all([register(app, { email, code }), rival.catch(() => undefined)]);
    t.ok([201, 400].includes(answers[0].status));
    t.equal(await em.count(Account, { email }), 1);
  });

  t.test('a registration that fails leaves nothing behind, and the code is good for another', async (t) => {
    const email = 'again@example.com';
    const code = await app.code(email);
    const subscriber = {
      getSubscribedEntities: () => [Account],
      beforeCreate: async () => {
        throw new Error('the database is on fire');
      },
    };
    orm.em.getEventManager().registerSubscriber(subscriber);
    t.match(await register(app, { email, code }), { status: 500, body: { code: 'internal_error' } });
    t.equal(await app.stored(email), null);
    subscriber.beforeCreate = async (): Promise<never> => undefined as never;
    t.equal((await register(app, { email, code })).status, 201);
  });
});

t.test('a unique violation of the address is distinguished from others', async (t) => {
  forEachDatabase(t, { entities: [Account, Role] }, async (t, orm) => {
    const app = await startApp(t, orm);
    const email = 'late@example.com';
    const code = await app.code(email);
    // Looks free when it is looked up, and is taken when it is inserted.
    const rival = {
      getSubscribedEntities: () => [Account],
      rivals: 1,
      async beforeTransactionStart(): Promise<void> {
        if (this.rivals-- > 0) {
          await orm.em
            .fork()
            .insert(Account, { email, password: 'x', name: 'Rival', is_active: true, created_at: new Date() });
        }
      },
    };
    orm.em.getEventManager().registerSubscriber(rival);
    const answer = await register(app, { email, code });
    t.match(answer, { status: 400, body: { code: 'invalid_usage', error: /already registered/ } });
    t.equal((await app.stored(email))?.name, 'Rival');
  });
});

t.test('a default role that does not exist is one line in the log, at the first registration', async (t) => {
  for (const [defaultRole, expected] of [
    ['usr', 1],
    [undefined, 0],
    ['user', 0],
  ] as const) {
    const orm = await openSqlite(t, { entities: [Account, Role] });
    if (defaultRole === 'user') await orm.em.fork().insert(Role, { name: 'user' });
    const lines: string[] = [];
    const app = fastify(serverOptions({ logger: { stream: { write: (line: string) => void lines.push(line) } } }));
    t.teardown(() => app.close());
    await app.register(viewset, { orm });
    const mailer = new MailBox();
    const given = defaultRole === undefined ? {} : { defaultRole };
    await app.register(auth, { account: Account, secret: SECRET, bcryptRounds: 4, mailer, ...given });
    for (const email of ['one@example.com', 'two@example.com']) {
      const code = await app.auth.codes.issue(email);
      const payload = { email, password: PASSWORD, name: 'Ann', code };
      const answer = await app.inject({ method: 'POST', url: '/auth/register', payload });
      t.equal(answer.statusCode, 201, answer.body);
    }
    t.equal(lines.filter((line) => line.includes('option \\"defaultRole\\"')).length, expected, String(defaultRole));
  }
});

t.test('with checkTables, it is in the log once the application listens', async (t) => {
  for (const [defaultRole, checkTables, expected] of [
    ['usr', true, 1],
    ['usr', false, 0],
    [undefined, true, 0],
    ['user', true, 0],
  ] as const) {
    const orm = await openSqlite(t, { entities: [Account, Role] });
    await orm.em.fork().insert(Role, { name: 'user' });
    const lines: string[] = [];
    const stream = { write: (line: string) => void lines.push(line) };
    const app = fastify(serverOptions({ logger: { level: 'debug', stream } }));
    t.teardown(() => app.close());
    await app.register(viewset, { orm, checkTables });
    const mailer = new MailBox();
    const given = defaultRole === undefined ? {} : { defaultRole };
    await app.register(auth, { account: Account, secret: SECRET, bcryptRounds: 4, mailer, ...given });
    await app.listen({ port: 0, host: '127.0.0.1' });
    // The check of the tables begins first, and makes more queries.
    const last = expected === 1 ? 'no role has the name' : 'database was checked';
    const isChecked = (): boolean => !checkTables || lines.some((line) => line.includes(last));
    while (!isChecked()) await new Promise((resolve) => setImmediate(resolve));
    const warned = lines.filter((line) => line.includes('no role has the name \\"usr\\" of option \\"defaultRole\\"'));
    t.equal(warned.length, expected, String(defaultRole));
  }
});

t.test('a table of roles that is missing does not stop the application', async (t) => {
  const orm = await openSqlite(t, { entities: [Account, Role] });
  await orm.em.getConnection().execute('drop table role');
  const lines: string[] = [];
  const stream = { write: (line: string) => void lines.push(line) };
  const app = fastify(serverOptions({ logger: { level: 'debug', stream } }));
  t.teardown(() => app.close());
  await app.register(viewset, { orm, checkTables: true });
  await app.register(auth, { account: Account, secret: SECRET, mailer: new MailBox(), defaultRole: 'user' });
  await app.listen({ port: 0, host: '127.0.0.1' });
  while (!lines.some((line) => line.includes('was not looked up'))) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.equal((await app.inject({ method: 'POST', url: '/auth/login', payload: {} })).statusCode, 401);
});
