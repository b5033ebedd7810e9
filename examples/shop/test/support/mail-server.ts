import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import type { Test } from 'tap';

export interface Mail {
  from: string;
  to: string[];
  headers: string;
  content: string;
}

interface Envelope {
  mailFrom: false | { address: string };
  rcptTo: { address: string }[];
}

/** A mail server. */
export class MailServer {
  /** The received mails, accepted or not. */
  readonly mails: Mail[] = [];
  readonly #server: SMTPServer;
  /** Called for every mail before it is accepted; an error rejects the mail. */
  beforeAccept: () => Promise<void> | void = () => {};

  constructor() {
    this.#server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS', 'AUTH'],
      onData: (stream, session, done) => {
        void this.#receive(stream, session.envelope).then(() => done(), done);
      },
    });
    // The server ignores a client that disconnects during a mail.
    this.#server.on('error', () => {});
  }

  async #receive(stream: Readable, envelope: Envelope): Promise<void> {
    const mail = await text(stream);
    const end = mail.indexOf('\r\n\r\n');
    this.mails.push({
      from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
      to: envelope.rcptTo.map(({ address }) => address),
      headers: mail.slice(0, end),
      content: mail.slice(end + 4),
    });
    await this.beforeAccept();
  }

  /** Starts listening; stops when the test ends. */
  async start(t: Test): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server.server, 'listening');
    t.teardown(() => this.stop());
    return `smtp://127.0.0.1:${(this.#server.server.address() as AddressInfo).port}`;
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.#server.close(resolve));
  }
}

/** The address of a port on which nothing listens. */
export async function deadPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}
