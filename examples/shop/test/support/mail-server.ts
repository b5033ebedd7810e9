import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { SMTPServer } from 'smtp-server';
import type { Test } from 'tap';

export interface Mail {
  from: string;
  to: string[];
  headers: string;
  content: string;
}

/** A mail server that keeps what it is sent. */
export class MailServer {
  readonly mails: Mail[] = [];
  readonly #server: SMTPServer;
  /** Called for every mail before it is accepted; what it throws, refuses the mail. */
  beforeAccept: () => Promise<void> | void = () => {};

  constructor() {
    this.#server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS', 'AUTH'],
      onData: (stream, session, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          this.#keep(session.envelope, Buffer.concat(chunks).toString('utf8')).then(() => done(), done);
        });
      },
    });
    // A client that goes away in the middle is none of the server's business.
    this.#server.on('error', () => {});
  }

  async #keep(
    envelope: { mailFrom: false | { address: string }; rcptTo: { address: string }[] },
    text: string,
  ): Promise<void> {
    await this.beforeAccept();
    const end = text.indexOf('\r\n\r\n');
    this.mails.push({
      from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
      to: envelope.rcptTo.map(({ address }) => address),
      headers: text.slice(0, end),
      content: text.slice(end + 4),
    });
  }

  /** Starts listening; stops when the test ends. */
  async start(t: Test): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server.server, 'listening');
    t.teardown(() => new Promise<void>((done) => this.#server.close(done)));
    return `smtp://127.0.0.1:${(this.#server.server.address() as AddressInfo).port}`;
  }
}

/** The address of a server that takes connections and never says a word. */
export async function silentServer(t: Test): Promise<string> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => new Promise<void>((done) => void server.close(() => done())));
  return `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The address of a port on which nothing listens. */
export async function deadPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}
