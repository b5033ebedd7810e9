/** A clock to move, and the mails of an application. */
import t from 'tap';
import { Clock, MailBox, testApp } from '../src/index.ts';
import { Account, type Api, createApp, createAppWithAccounts, ENTITIES } from './support/library.ts';

t.test('throttles count by the clock', async (t) => {
  const library = await testApp(createApp, { entities: ENTITIES });
  t.teardown(() => library.close());
  const api = library.as<Api>(null);
  for (let count = 0; count < 100; count++) await library.app.inject('/api/books');
  t.equal((await api.books.list.safe()).status, 429);
  library.clock.advance({ seconds: 59 });
  t.equal((await api.books.list.safe()).status, 429);
  library.clock.advance({ seconds: 1 });
  t.equal((await api.books.list.safe()).status, 200);
});

t.test('codes and tokens grow old', async (t) => {
  const mails = new MailBox();
  const library = await testApp((orm) => createAppWithAccounts(orm, { mailer: mails }), { entities: ENTITIES });
  t.teardown(() => library.close());
  const post = (url: string, payload: object) => library.app.inject({ method: 'POST', url, payload });
  const email = 'ada@example.com';
  const sendCode = async (): Promise<string> => {
    t.equal((await post('/api/auth/send-verification-email', { email })).statusCode, 200);
    return mails.code(email);
  };
  const register = async (code: string) =>
    post('/api/auth/register', { email, name: 'Ada', password: 'correct horse battery', code });
  const old = await sendCode();
  library.clock.advance({ hours: 1 });
  t.equal((await register(old)).statusCode, 400, 'the code is too old');
  t.equal((await register(await sendCode())).statusCode, 201);

  const account = await library.orm.em.fork().findOneOrFail(Account, { email }, { populate: ['role'] });
  const headers = library.headersOf(account);
  const create = () => library.app.inject({ method: 'POST', url: '/api/books', payload: {}, headers });
  t.equal((await create()).statusCode, 400, 'whoever is logged in has to send a book');
  library.clock.advance({ days: 30 });
  t.equal((await create()).statusCode, 401, 'the token is too old');
});

t.test('a mail is awaited, and returned once', async (t) => {
  const mails = new MailBox();
  setTimeout(() => void mails.send('ada@example.com', 'Hello', 'It is 123456.'), 20);
  t.equal(await mails.code('ada@example.com'), '123456');
  await mails.send('ada@example.com', 'Again', 'Nothing.', true);
  t.strictSame(await mails.last('ada@example.com'), {
    recipient: 'ada@example.com',
    subject: 'Again',
    content: 'Nothing.',
    isHtml: true,
  });
  t.equal(mails.all.length, 2);
  await mails.send('ada@example.com', 'Third', 'Nothing.');
  await t.rejects(mails.code('ada@example.com'), {
    message: 'The mail "Third" to ada@example.com has no code of six digits',
  });
  await t.rejects(mails.last('ben@example.com'), {
    message: 'No new mail to ben@example.com; there is mail to ada@example.com',
  });
});

t.test('clocks move the time of the process, and put it back', async (t) => {
  const [before, RealDate] = [Date.now(), Date];
  const [first, second] = [new Clock(), new Clock()];
  first.advance({ days: 1, hours: 1, minutes: 1, seconds: 1, milliseconds: 1 });
  second.advance({ minutes: 5 });
  const moved = 86_400_000 + 3_600_000 + 60_000 + 1001;
  t.ok(Date.now() - before >= moved + 300_000);
  t.ok(new Date().getTime() - before >= moved + 300_000);
  t.ok(new Date() instanceof Date && new Date() instanceof RealDate);
  t.equal(new Date(5).getTime(), 5);
  t.equal(Date.UTC(2020, 0, 1), RealDate.UTC(2020, 0, 1));
  first.reset();
  t.ok(Date.now() - before < moved);
  t.ok(Date.now() - before >= 300_000);
  second.reset();
  t.equal(Date, RealDate);
  t.throws(() => first.advance({ minutes: -1 }), { name: 'RangeError' });
});
