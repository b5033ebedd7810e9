import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { ImproperlyConfigured } from '@viewset/core';
import t from 'tap';
import { LogEmailSender } from '../src/codes/email-sender.ts';
import { SmtpEmailSender } from '../src/codes/smtp-email-sender.ts';
import { startSmtpServer } from './support/smtp.ts';

const from = 'Shop <shop@example.com>';

t.test('a mail arrives as plain text, at one recipient, from the sender', async (t) => {
  const server = await startSmtpServer(t);
  const mailer = new SmtpEmailSender({ url: server.url, from });
  await mailer.send('ann@example.com', 'Grüße', 'Guten Tag,\n\nein Wort.\n');
  const [mail] = server.mails;
  t.match(mail, { from: 'shop@example.com', to: ['ann@example.com'] });
  t.match(mail?.headers['to'], 'ann@example.com');
  t.match(mail?.headers['content-type'], /^text\/plain; charset=utf-8$/);
  t.match(mail?.body, /Guten Tag,\r\n\r\nein Wort\./);
  mailer.close();
});

t.test('a sender that is closed cancels its mails and their connections', async (t) => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket.resume())).listen(0, '127.0.0.1');
  t.teardown(() => silent.close());
  await once(silent, 'listening');
  const connected = once(silent, 'connection');
  const url = `smtp://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const mailer = new SmtpEmailSender({ url, from, timeoutMs: 600_000 });
  const sending = mailer.send('ann@example.com', 'x', 'x');
  const failed = t.rejects(sending, /aborted/);
  await connected;
  mailer.close();
  await failed;
  const [socket] = sockets;
  if (!socket!.closed) await once(socket!, 'close');
});

t.test('HTML on request', async (t) => {
  const server = await startSmtpServer(t);
  await new SmtpEmailSender({ url: server.url, from }).send('ann@example.com', 'x', '<p>Hello</p>', true);
  t.match(server.mails[0]?.headers['content-type'], /^text\/html/);
});

t.test('neither the recipient nor the subject can add a header or a recipient', async (t) => {
  const server = await startSmtpServer(t);
  const mailer = new SmtpEmailSender({ url: server.url, from });
  await t.rejects(mailer.send('ann@example.com\r\nBcc: eve@example.com', 'x', 'x'), TypeError);
  await t.rejects(mailer.send('ann@example.com', 'x\nBcc: eve@example.com', 'x'), TypeError);
  for (const recipient of [
    'ann@example.com, eve@example.com',
    'Eve <eve@example.com>',
    'ann@example.com> RCPT TO:<eve@example.com',
  ]) {
    await mailer.send(recipient, 'x', 'x').catch(() => {});
  }
  t.notOk(
    server.mails.some(({ to }) => to.includes('eve@example.com')),
    JSON.stringify(server.mails),
  );
});

t.test('a server with a self-signed certificate gets the mail encrypted', async (t) => {
  const server = await startSmtpServer(t, { startTls: true });
  await new SmtpEmailSender({ url: server.url, from }).send('ann@example.com', 'x', 'x');
  t.match(server.mails, [{ secure: true }]);
  const strict = new SmtpEmailSender({ url: `${server.url}?requireTLS=true`, from });
  await t.rejects(strict.send('ann@example.com', 'x', 'x'), /certificate/);
  const withPassword = new SmtpEmailSender({ url: server.url.replace('//', '//shop:secret@'), from });
  await t.rejects(withPassword.send('ann@example.com', 'x', 'x'), /certificate/);
});

t.test('a server that is down, refuses, or does not respond is an error in time', async (t) => {
  const refusing = await startSmtpServer(t, { refuse: true });
  await t.rejects(new SmtpEmailSender({ url: refusing.url, from }).send('ann@example.com', 'x', 'x'));
  await t.rejects(
    new SmtpEmailSender({ url: 'smtp://127.0.0.1:1', from }).send('ann@example.com', 'x', 'x'),
    /ECONNREFUSED/,
  );

  const sockets: Socket[] = [];
  const drip = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    // Never idle, never done: no time-out of a single step would end this.
    const timer = setInterval(() => socket.write('220-wait\r\n'), 20);
    socket.on('close', () => clearInterval(timer));
  }).listen(0, '127.0.0.1');
  const silent = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1');
  await Promise.all([once(drip, 'listening'), once(silent, 'listening')]);
  for (const server of [drip, silent]) {
    t.teardown(() => server.close());
    const url = `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await t.rejects(new SmtpEmailSender({ url, from, timeoutMs: 200 }).send('ann@example.com', 'x', 'x'));
  }
  for (const socket of sockets) socket.destroy();
});

t.test('wrong options are refused, and a password in the URL is not repeated', async (t) => {
  for (const url of ['', 'localhost:25', 'http://x', 'smtp:', 'smtp//user:hunter2@host']) {
    t.throws(() => new SmtpEmailSender({ url, from }), ImproperlyConfigured, url);
    t.throws(() => new SmtpEmailSender({ url, from }), { message: /^(?!.*hunter2)/s });
  }
  for (const sender of ['', 'shop', 'a@b.co\r\nBcc: c@d.ef', undefined as never]) {
    t.throws(() => new SmtpEmailSender({ url: 'smtp://x', from: sender }), ImproperlyConfigured);
  }
  t.throws(() => new SmtpEmailSender({ url: 'smtp://x', from, timeoutMs: 0 }), ImproperlyConfigured);
});

t.test('without a mail server, the log has the mail', async (t) => {
  const lines: unknown[][] = [];
  await new LogEmailSender({ info: (...line: unknown[]) => void lines.push(line) }).send(
    'ann@example.com',
    'Code',
    '123456',
  );
  t.strictSame(lines, [
    [
      { mail: { recipient: 'ann@example.com', subject: 'Code', content: '123456', is_html: false } },
      'mail to ann@example.com',
    ],
  ]);
});
