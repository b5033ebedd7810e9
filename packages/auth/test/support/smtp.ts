import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import type { Test } from 'tap';

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** In lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** True if it came over TLS. */
  readonly secure: boolean;
}

export interface SmtpTestServer {
  readonly url: string;
  readonly mails: ReceivedMail[];
}

/** A real SMTP server on a free port of the loopback, closed when the test ends. */
export async function startSmtpServer(
  t: Test,
  options: { startTls?: boolean; refuse?: boolean } = {},
): Promise<SmtpTestServer> {
  const mails: ReceivedMail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: options.startTls === true ? [] : ['STARTTLS'],
    onRcptTo: (_address, _session, done) => done(options.refuse === true ? new Error('no such mailbox') : null),
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom === false ? '' : mailFrom.address;
        mails.push({
          from,
          to: rcptTo.map(({ address }) => address),
          secure: session.secure,
          ...parse(Buffer.concat(chunks)),
        });
        done();
      });
    },
  });
  // What a client does wrong is the client's error, not the server's end.
  server.on('error', () => {});
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  t.teardown(() => new Promise<void>((resolve) => server.close(resolve)));
  return { url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`, mails };
}

function parse(raw: Buffer): Pick<ReceivedMail, 'headers' | 'body'> {
  const text = raw.toString('utf8');
  const end = text.indexOf('\r\n\r\n');
  const lines = text
    .slice(0, end)
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const headers = lines.map(
    (line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)] as const,
  );
  return { headers: Object.fromEntries(headers), body: text.slice(end + 4) };
}
