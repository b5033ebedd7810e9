import { createServer } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { openSqlite } from '../../../core/test/support/databases.ts';
import { type Store, MemoryStore, ServiceUnavailable } from '@viewset/core';
import { LogEmailSender, SmtpEmailSender } from '../../src/index.ts';
import { PASSWORD, startApp } from '../support/app.ts';
import { Account, Role } from '../support/entities.ts';
import { startSmtpServer } from '../support/smtp.ts';

const SEND = '/auth/send-verification-email';
const entities = [Account, Role];
const from = 'Shop <shop@example.com>';

t.test('a mail with a code of six digits and how long it is valid, to the normalized address', async (t) => {
  const server = await startSmtpServer(t);
  const app = await startApp(t, await openSqlite(t, { entities }), {
    mailer: new SmtpEmailSender({ url: server.url, from }),
  });
  const answer = await app.post(SEND, { email: ' Ann@Example.COM ' });
  t.equal(answer.status, 200);
  t.strictSame(Object.keys(answer.body), ['message']);
  const [mail] = server.mails;
  t.match(mail, { from: 'shop@example.com', to: ['ann@example.com'] });
  t.match(mail?.headers['content-type'], /^text\/plain/);
  t.match(mail?.body, /10 minutes/);
  const codes = mail?.body.match(/\b\d{6}\b/g);
  t.equal(codes?.length, 1);
  t.notMatch(answer.text, new RegExp(codes?.[0] ?? 'none'));
  const account = { email: 'ann@example.com', password: PASSWORD, name: 'Ann', code: codes?.[0] };
  t.equal((await app.post('/auth/register', account)).status, 201);
});

t.test('the response is the same with and without an account', async (t) => {
  const app = await startApp(t, await openSqlite(t, { entities }));
  await app.addAccount('ann@example.com');
  const [known, unknown] = [
    await app.post(SEND, { email: 'ann@example.com' }),
    await app.post(SEND, { email: 'bob@example.com' }),
  ];
  t.equal(known?.text, unknown?.text);
  t.equal(app.mailer.mails.length, 2);
});

t.test('an invalid address returns 400, and no mail is sent', async (t) => {
  const app = await startApp(t, await openSqlite(t, { entities }));
  for (const email of [
    undefined,
    null,
    '',
    1,
    [],
    {},
    'x',
    'a@b',
    'a@b.co\r\nBcc: c@d.ef',
    'a@b.co,c@d.ef',
    'a\0@b.co',
    '\ud800@b.co',
    ['a@b.co'],
  ]) {
    const answer = await app.post(SEND, { email });
    t.match(
      answer,
      { status: 400, body: { code: 'invalid_usage', details: [{ in: 'body', path: '/email' }] } },
      JSON.stringify(email),
    );
  }
  t.equal(app.mailer.mails.length, 0);
});

t.test('more than five mails to one address return 429, in any case of the address', async (t) => {
  const app = await startApp(t, await openSqlite(t, { entities }));
  for (let send = 0; send < 5; send++) {
    t.equal((await app.post(SEND, { email: send % 2 ? 'ann@b.co' : 'ANN@b.co' })).status, 200);
  }
  const sixth = await app.post(SEND, { email: 'ann@b.co' });
  t.match(sixth, { status: 429, body: { code: 'too_many_requests' } });
  const wait = Number(sixth.headers.get('retry-after'));
  t.ok(Number.isInteger(wait) && wait > 590 && wait <= 600);
  t.equal((await app.post(SEND, { email: 'bob@b.co' })).status, 200);
  t.equal(app.mailer.mails.length, 6);
});

t.test('a mail that is not accepted returns 503, its code is not stored, and it does not count', async (t) => {
  const app = await startApp(t, await openSqlite(t, { entities }));
  const codes: string[] = [];
  app.mailer.send = async (_recipient, _subject, content) => {
    codes.push(/\d{6}/.exec(content)?.[0] ?? '');
    throw new Error('550 secret.host.internal says no');
  };
  for (let tries = 0; tries < 7; tries++) {
    const answer = await app.post(SEND, { email: 'ann@b.co' });
    t.match(answer, { status: 503, body: { code: 'service_unavailable' } });
    t.notMatch(answer.text, /secret/);
  }
  const account = { email: 'ann@b.co', password: PASSWORD, name: 'Ann' };
  t.equal((await app.post('/auth/register', { ...account, code: codes.at(-1) })).status, 400);
  Reflect.deleteProperty(app.mailer, 'send');
  const code = await app.code('ann@b.co');
  t.equal((await app.post('/auth/register', { ...account, code })).status, 201);
});

t.test('a mail whose text cannot be made returns 500, its code is not stored, and it does not count', async (t) => {
  const codes: string[] = [];
  let broken = true;
  const verificationEmail = (code: string) => {
    codes.push(code);
    if (broken) throw new Error('no such template');
    return { subject: 'Code', content: code };
  };
  const app = await startApp(t, await openSqlite(t, { entities }), { verificationEmail });
  for (let tries = 0; tries < 7; tries++) {
    t.match(await app.post(SEND, { email: 'ann@b.co' }), { status: 500, body: { code: 'internal_error' } });
  }
  const account = { email: 'ann@b.co', password: PASSWORD, name: 'Ann' };
  t.equal((await app.post('/auth/register', { ...account, code: codes.at(-1) })).status, 400);
  broken = false;
  t.equal((await app.post('/auth/register', { ...account, code: await app.code('ann@b.co') })).status, 201);
});

t.test('a code that cannot be kept does not count', async (t) => {
  const store = new MemoryStore();
  t.teardown(() => store.close());
  store.put = () => {
    throw new ServiceUnavailable();
  };
  const app = await startApp(t, await openSqlite(t, { entities }), { store });
  for (let tries = 0; tries < 7; tries++) t.match(await app.post(SEND, { email: 'ann@b.co' }), { status: 503 });
  t.equal(app.mailer.mails.length, 0);
});

t.test('a missing body returns a 400 that requires JSON', async (t) => {
  const app = await startApp(t, await openSqlite(t, { entities }));
  t.match(await app.request('POST', SEND), { status: 400, body: { error: 'A JSON body is required' } });
});

t.test('a silent mail server and a sender that never resolves return 503', async (t) => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.teardown(() => silent.close());
  const url = `smtp://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const app = await startApp(t, await openSqlite(t, { entities }), { mailer: new SmtpEmailSender({ url, from }) });
  const hanging = { send: () => new Promise<void>(() => {}) };
  const other = await startApp(t, await openSqlite(t, { entities }), { mailer: hanging });
  const answers = await Promise.all([app.post(SEND, { email: 'ann@b.co' }), other.post(SEND, { email: 'ann@b.co' })]);
  for (const answer of answers) t.match(answer, { status: 503, body: { code: 'service_unavailable' } });
});

t.test('a store that is down returns 503, and no mail is sent', async (t) => {
  const down = (): never => {
    throw new ServiceUnavailable();
  };
  const store = new Proxy({} as Store, { get: () => down });
  const app = await startApp(t, await openSqlite(t, { entities }), { store });
  t.match(await app.post(SEND, { email: 'ann@b.co' }), { status: 503 });
  const account = { email: 'ann@b.co', password: PASSWORD, name: 'Ann', code: '123456' };
  t.match(await app.post('/auth/register', account), { status: 503 });
  t.equal(app.mailer.mails.length, 0);
});

t.test('the mail can be worded otherwise, and the sender is closed with the application', async (t) => {
  const verificationEmail = (code: string, minutes: number) => ({
    subject: 'Code',
    content: `<b>${code}</b> ${minutes}`,
    isHtml: true,
  });
  const app = await startApp(t, await openSqlite(t, { entities }), { verificationEmail, store: new MemoryStore() });
  await app.code('ann@b.co');
  t.match(app.mailer.mails, [{ recipient: 'ann@b.co', subject: 'Code', content: /^<b>\d{6}<\/b> 10$/, isHtml: true }]);
  await app.app.close();
  t.equal(app.mailer.closed, 1);
});

t.test('without a mail server the log has the mail', async (t) => {
  const lines: unknown[] = [];
  const mailer = new LogEmailSender({ info: (line: unknown) => void lines.push(line) });
  const app = await startApp(t, await openSqlite(t, { entities }), { mailer });
  t.equal((await app.post(SEND, { email: 'ann@b.co' })).status, 200);
  t.match(lines, [{ mail: { recipient: 'ann@b.co', content: /\d{6}/ } }]);
});

t.test('an invalid log is rejected at once', async (t) => {
  for (const log of [undefined, null, {}]) {
    t.throws(() => new LogEmailSender(log as never), { name: 'ImproperlyConfigured', message: /LogEmailSender/ });
  }
});

t.test(
  'somebody who uses up the codes of an address blocks no browser that has logged in, nor other networks',
  async (t) => {
    const store = new MemoryStore();
    t.teardown(() => store.close());
    const app = await startApp(t, await openSqlite(t, { entities }), { store, passwords: {} });
    await app.addAccount('ann@b.co');
    const login = await app.post('/auth/login', { email: 'ann@b.co', password: PASSWORD });
    const cookie = login.headers
      .getSetCookie()
      .map((each) => each.split(';')[0])
      .join('; ');
    for (let send = 0; send < 5; send++) await app.post(SEND, { email: 'ann@b.co' });
    t.equal((await app.post('/auth/forgot-password', { email: 'ann@b.co' })).status, 429, 'a stranger');
    const from = app.mailer.mails.length;
    t.equal((await app.post('/auth/forgot-password', { email: 'ann@b.co' }, { cookie })).status, 200);
    const code = await app.sentCode(from, 'ann@b.co');
    const reset = { email: 'ann@b.co', code, new_password: 'battery staple' };
    t.equal((await app.post('/auth/reset-password', reset)).status, 204);
    t.equal((await app.post('/auth/forgot-password', { email: 'bob@b.co' }, { cookie })).status, 200);
  },
);
