import { missingServer, TEST_DATABASES } from '@viewset/testing';
import t, { type Test } from 'tap';
import { isError, isInvalid } from './support/expect.ts';
import type { Answer } from './support/http-client.ts';
import { MailServer } from './support/mail-server.ts';
import type { Page } from './support/records.ts';
import { PASSWORD, type Shop, codeIn, openShop, withShop } from './support/shop.ts';
import { claimsOf } from './support/token.ts';

interface Registered {
  message: string;
  user: { id: number; email: string; name: string };
}

const send = (shop: Shop, email: unknown): Promise<Answer> => shop.post('/api/auth/send-verification-email', { email });
const register = (shop: Shop, body: object): Promise<Answer<Registered>> =>
  shop.post<Registered>('/api/auth/register', {
    email: 'a@example.com',
    password: PASSWORD,
    name: 'Some User',
    ...body,
  });

withShop({}, async (t, shop) => {
  const admin = await shop.login();

  await t.test('a registration', async (t) => {
    const email = 'new@example.com';
    const code = await shop.verificationCode(email);
    t.match(code, /^\d{6}$/);
    const answer = await register(shop, { email, code, name: 'Jürgen 💩' });
    t.equal(answer.status, 201);
    t.type(answer.body.message, 'string');
    const { id } = answer.body.user;
    t.same(answer.body, { message: answer.body.message, user: { id, email, name: 'Jürgen 💩' } });
    const token = await shop.login({ email, password: PASSWORD });
    t.same((await shop.get(`/api/accounts/${id}`, { token })).body, {
      id,
      email,
      name: 'Jürgen 💩',
      is_active: true,
      role: 'user',
    });
    isInvalid(t, await register(shop, { email, code }), ['/code'], 'the code is used up');
  });

  await t.test('addresses are trimmed and lower-cased', async (t) => {
    const code = await shop.verificationCode('  Mixed.Case@Example.COM ');
    const answer = await register(shop, { email: '\tMIXED.case@example.com', code });
    t.equal(answer.status, 201);
    t.equal(answer.body.user.email, 'mixed.case@example.com');
    await shop.login({ email: 'Mixed.Case@example.com', password: PASSWORD });
  });

  await t.test('the body is checked first, all of it', (t) => bodies(t, shop));
  await t.test('then the code', (t) => codes(t, shop));
  await t.test('then whether the address is taken', async (t) => {
    const email = 'admin@example.com';
    isInvalid(t, await register(shop, { email, code: '000000' }), ['/code'], 'a wrong code learns nothing');
    const unknown = await register(shop, { email: 'nobody@example.com', code: '000000' });
    t.equal(
      (await register(shop, { email, code: '000000' })).text,
      unknown.text,
      'the same answer as for an unknown address',
    );
    const code = await shop.verificationCode(email);
    isError(t, await register(shop, { email, code }), 'invalid_usage', 'a right code');
    const { body } = await shop.get<Page<unknown>>('/api/accounts', { token: admin });
    t.equal(body.results.filter((account) => (account as { email: string }).email === email).length, 1);
  });

  await t.test('unknown properties are dropped', async (t) => {
    const email = 'extra@example.com';
    const code = await shop.verificationCode(email);
    const extra =
      '"id":7777,"role":"admin","role_id":1,"is_active":false,"created_at":"x","last_login":"x","__proto__":{"role":1},"constructor":{"prototype":{}}';
    const body = `{"email":"${email}","password":"${PASSWORD}","name":"x","code":"${code}",${extra}}`;
    const answer = await shop.request<Registered>('POST', '/api/auth/register', { body });
    t.equal(answer.status, 201);
    t.not(answer.body.user.id, 7777);
    const account = await shop.get(`/api/accounts/${answer.body.user.id}`, { token: admin });
    t.match(account.body, { role: 'user', is_active: true });
  });

  await t.test('sends', (t) => sends(t, shop));
  await t.test('accounts get no role if the role user does not exist', async (t) => {
    const roles = await shop.get<Page<{ id: number; name: string }>>('/api/roles', { token: admin });
    const role = roles.body.results.find(({ name }) => name === 'user');
    t.equal((await shop.patch(`/api/roles/${role?.id}`, { name: 'customer' }, { token: admin })).status, 200);
    const id = await shop.register('roleless@example.com');
    t.match((await shop.get(`/api/accounts/${id}`, { token: admin })).body, { role: null });
    t.equal(claimsOf(await shop.login({ email: 'roleless@example.com', password: PASSWORD }))['role'], 'user');
  });
});

async function bodies(t: Test, shop: Shop): Promise<void> {
  const table: [path: string, bad: unknown[], good: unknown[]][] = [
    [
      '/email',
      [
        undefined,
        null,
        1,
        true,
        [],
        {},
        '',
        ' ',
        'x',
        'x@',
        '@example.com',
        'a b@example.com',
        'a@b@example.com',
        'a@example.com\n.evil.com',
        'a@example.com,b@example.com',
        'a@example.com>',
        '<a@example.com>',
        'Ann <a@example.com>',
        `${'x'.repeat(250)}@example.com`,
        'a@exa\0mple.com',
        'a\r\nBcc: b@example.com',
        '.a@example.com',
        'a..b@example.com',
        'a@-example.com',
        'a@example..com',
        '\ud800@example.com',
      ],
      ['a+b@example.com', 'a_b-c.d@sub.example.co', '1@example.com', `o'neil@example.com`],
    ],
    [
      '/password',
      [
        undefined,
        null,
        123456,
        true,
        [],
        {},
        '',
        '12345',
        'x'.repeat(51),
        '💩'.repeat(5),
        '💩'.repeat(19),
        'é'.repeat(37),
        'passw\0rd',
        '\ud800password',
      ],
      ['123456', 'x'.repeat(50), '💩'.repeat(18), 'é'.repeat(36), '      '],
    ],
    [
      '/name',
      [undefined, null, 1, [], {}, '', 'x'.repeat(101), '💩'.repeat(101), 'a\0b', '\udc00'],
      ['x', 'x'.repeat(100), '💩'.repeat(100), '<b>'],
    ],
  ];
  for (const [path, bad, good] of table) {
    for (const value of bad) {
      const answer = await register(shop, { code: '123456', [path.slice(1)]: value });
      isInvalid(t, answer, [path], `${path} ${JSON.stringify(value)?.slice(0, 50)}`);
    }
    for (const value of good) {
      const answer = await register(shop, { code: '123456', [path.slice(1)]: value });
      isInvalid(t, answer, ['/code'], `${path} ${JSON.stringify(value).slice(0, 50)} is taken; the code is not`);
    }
  }
  isInvalid(
    t,
    await shop.post('/api/auth/register', {}),
    ['/email', '/name', '/password'],
    'nothing at all: the shape before the code',
  );
  isInvalid(
    t,
    await shop.post('/api/auth/register', { email: 'x', password: 'x', code: 1 }),
    ['/email', '/name', '/password']
      .concat('/code')
      .toSorted()
      .filter((path) => path !== '/code'),
    'the shape before the code',
  );
}

async function codes(t: Test, shop: Shop): Promise<void> {
  for (const code of [
    undefined,
    null,
    '',
    123456,
    '12345',
    '1234567',
    'abcdef',
    ' 123456',
    '１２３４５６',
    [],
    {},
    ['123456'],
    '12345\0',
    'x'.repeat(10_000),
    '-12345',
    '1e5000',
  ]) {
    isInvalid(t, await register(shop, { code }), ['/code'], `code ${JSON.stringify(code)?.slice(0, 30)}`);
  }
  const email = 'tries@example.com';
  const code = await shop.verificationCode(email);
  const wrong = code === '000000' ? '111111' : '000000';
  for (let tries = 0; tries < 4; tries += 1) {
    isInvalid(t, await register(shop, { email, code: wrong }), ['/code'], `wrong try ${tries + 1}`);
  }
  t.equal((await register(shop, { email, code })).status, 201, 'after four wrong tries the code is good');
  const other = 'five-tries@example.com';
  const void5 = await shop.verificationCode(other);
  for (let tries = 0; tries < 5; tries += 1) {
    await register(shop, { email: other, code: void5 === '000000' ? '111111' : '000000' });
  }
  isInvalid(t, await register(shop, { email: other, code: void5 }), ['/code'], 'after five wrong tries it is void');
  const first = await shop.verificationCode(other);
  const second = await shop.verificationCode(other);
  if (first !== second) {
    isInvalid(t, await register(shop, { email: other, code: first }), ['/code'], 'a new send replaces the code');
  }
  isInvalid(
    t,
    await register(shop, { email: 'another@example.com', code: second }),
    ['/code'],
    'a code is for one address',
  );
  t.equal((await register(shop, { email: other, code: second })).status, 201, 'the new one is good');
}

async function sends(t: Test, shop: Shop): Promise<void> {
  for (const email of [
    undefined,
    null,
    '',
    1,
    [],
    {},
    'x',
    'a@example.com\r\nBcc: b@example.com',
    'a\0@example.com',
    `${'x'.repeat(250)}@example.com`,
    'a@example.com,b@example.com',
    '\ud800@example.com',
  ]) {
    isInvalid(t, await send(shop, email), ['/email'], `email ${JSON.stringify(email)?.slice(0, 40)}`);
  }
  const known = await send(shop, 'admin@example.com');
  const unknown = await send(shop, 'never-seen@example.com');
  t.equal(known.status, 200);
  t.same(Object.keys(known.body), ['message']);
  t.equal(known.text, unknown.text, 'the answer tells nothing about the account');
  for (let sent = 0; sent < 5; sent += 1) {
    t.equal(
      (await send(shop, sent % 2 === 0 ? 'often@example.com' : ' OFTEN@example.com')).status,
      200,
      `send ${sent + 1}`,
    );
  }
  const sixth = await send(shop, 'often@example.com');
  isError(t, sixth, 'too_many_requests', 'more than five sends to one address');
  t.ok(Number(sixth.headers.get('retry-after')) <= 600);
  t.equal((await send(shop, 'less-often@example.com')).status, 200, 'another address');
}

for (const kind of TEST_DATABASES) {
  t.test(`with a mail server, on ${kind}`, { skip: missingServer(kind) }, async (t) => {
    const server = new MailServer();
    const shop = await openShop(t, {
      kind,
      variables: { SMTP_URL: await server.start(t), MAIL_FROM: 'Shop <shop@example.com>' },
    });

    await t.test('the mail', async (t) => {
      t.equal((await send(shop, ' Ann@Example.com')).status, 200);
      const [mail] = server.mails;
      t.match(mail, { from: 'shop@example.com', to: ['ann@example.com'] });
      t.match(mail?.headers, /^From: .*shop@example\.com/im);
      t.match(mail?.headers, /^Subject: \S/im);
      t.match(mail?.headers, /^Content-Type: text\/plain/im, 'plain text');
      t.match(mail?.content, /10.minutes/i, 'it says how long the code is valid');
      t.equal((await register(shop, { email: 'ann@example.com', code: codeIn(mail!.content) })).status, 201);
      t.notOk(
        shop.process.log.some((line) => JSON.stringify(line).includes(codeIn(mail!.content)) && line.mail),
        'the code is not in the log',
      );
    });

    await t.test('a mail that is refused: 503, and the new code is not kept', async (t) => {
      const email = 'refused@example.com';
      server.beforeAccept = () => {
        throw new Error('No room');
      };
      isError(t, await send(shop, email), 'service_unavailable');
      const refused = codeIn(server.mails.at(-1)!.content);
      isInvalid(t, await register(shop, { email, code: refused }), ['/code']);
      server.beforeAccept = () => {};
      t.equal((await send(shop, email)).status, 200, 'and once more');
      t.equal((await register(shop, { email, code: codeIn(server.mails.at(-1)!.content) })).status, 201);
    });

    await t.test('a mail server that is down: 503', async (t) => {
      await server.stop();
      isError(t, await send(shop, 'down@example.com'), 'service_unavailable');
      isInvalid(t, await register(shop, { email: 'down@example.com', code: '000000' }), ['/code']);
    });
  });
}
