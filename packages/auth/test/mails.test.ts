/** The mails of the routes, which may not keep an application from closing. */
import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import t from 'tap';
import { Mails } from '../src/codes/mails.ts';

const mail = { subject: 'x', content: 'x' };

/** A log that keeps what it gets. */
function keepingLog() {
  const lines: [message: string, details: { err?: Error; mails?: number }][] = [];
  const note = (details: object, message: string): void => void lines.push([message, details]);
  return { lines, log: { warn: note, error: note } as unknown as FastifyBaseLogger };
}

t.test('an application closes although a mailer hangs, and cancels the mail', async (t) => {
  let closed = 0;
  const mailer = { send: () => new Promise<void>(() => {}), close: () => void closed++ };
  const mails = new Mails(mailer, 20);
  const { lines, log } = keepingLog();
  mails.afterwards({ log } as FastifyRequest, () => mails.send('ann@b.co', mail));
  mails.beginClose();
  await mails.close(log);
  await new Promise((resolve) => setImmediate(resolve));
  t.match(lines, [
    ['mails were not sent before the application closed', { mails: 1 }],
    ['a mail could not be sent', { err: { cause: { message: 'the application has closed' } } }],
  ]);
  t.equal(closed, 1);
  await t.rejects(mails.send('ann@b.co', mail), /could not be sent/);
});

t.test('an application waits for its mails, and closes although the mailer does not', async (t) => {
  const sent: string[] = [];
  const mailer = {
    send: async (recipient: string) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      sent.push(recipient);
    },
    close: () => new Promise<void>(() => {}),
  };
  const mails = new Mails(mailer);
  const { lines, log } = keepingLog();
  mails.afterwards({ log } as FastifyRequest, () => mails.send('ann@b.co', mail));
  mails.beginClose();
  await mails.close(log);
  t.strictSame(sent, ['ann@b.co']);
  t.match(lines, [['the mailer did not close in time', {}]]);
});
