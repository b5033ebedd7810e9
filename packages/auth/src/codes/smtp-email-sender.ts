import { checkOptionNames, ImproperlyConfigured } from '@viewset/core';
import { createTransport } from 'nodemailer';
import type { EmailSender } from './email-sender.ts';

/** The options of `SmtpEmailSender`. */
export interface SmtpOptions {
  /**
   * `smtp://host:port` or `smtps://user:password@host:port`. With `smtp:` the connection is encrypted if the server offers STARTTLS.
   * Options of nodemailer may follow as a query (`?requireTLS=true`).
   */
  readonly url: string;
  /** The sender: `shop@example.com`, or `Shop <shop@example.com>`. */
  readonly from: string;
  /** The time limit of one mail, from the name look-up to the server's last reply, in milliseconds. Default: 8,000. */
  readonly timeoutMs?: number;
}

/**
 * Sends mail through an SMTP server. Each mail has a new connection, which cannot be stale. Throws if the server is down, refuses, or has
 * not accepted the mail after `timeoutMs`.
 *
 * The server's certificate is verified with `smtps:`, with `requireTLS`, and before a password is sent. Otherwise encryption is
 * opportunistic: an unverified certificate is still better than clear text.
 *
 * @example
 * const mailer = new SmtpEmailSender({ url: 'smtp://localhost:1025', from: 'shop@example.com' });
 * await mailer.send('ann@example.com', 'Welcome', 'Hello Ann');
 */
export class SmtpEmailSender implements EmailSender {
  readonly #transport: ReturnType<typeof createTransport>;
  readonly #from: string;
  readonly #timeoutMs: number;
  #closing = new AbortController();

  /** Throws ImproperlyConfigured for a URL that is not for SMTP, or an empty sender. */
  constructor(options: SmtpOptions) {
    checkOptionNames('SmtpEmailSender', options, ['url', 'from', 'timeoutMs']);
    const { url, from, timeoutMs = 8_000 } = options;
    const server = parseSmtpUrl(url);
    if (typeof from !== 'string' || !from.includes('@') || hasLineBreak(from)) {
      throw new ImproperlyConfigured('SmtpEmailSender: option "from" must be an e-mail address (MAIL_FROM)');
    }
    if (!Number.isFinite(timeoutMs) || timeoutMs <= 0) {
      throw new ImproperlyConfigured(`SmtpEmailSender: option "timeoutMs" must be above 0, got ${String(timeoutMs)}`);
    }
    const verified =
      server.protocol === 'smtps:' || server.username !== '' || server.searchParams.get('requireTLS') === 'true';
    this.#transport = createTransport({
      url,
      tls: { rejectUnauthorized: verified },
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      socketTimeout: timeoutMs,
      dnsTimeout: timeoutMs,
      // Content always comes from code, never from a file or URL in a value.
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    this.#from = from;
    this.#timeoutMs = timeoutMs;
  }

  async send(recipient: string, subject: string, content: string, isHtml = false): Promise<void> {
    if (hasLineBreak(recipient) || hasLineBreak(subject)) throw new TypeError('A mail header must be a single line');
    await this.#transport.sendMail({
      from: this.#from,
      // An address in an object is used whole; text would be parsed, and a comma would make two addresses.
      to: { name: '', address: recipient },
      subject,
      [isHtml ? 'html' : 'text']: content,
      signal: AbortSignal.any([AbortSignal.timeout(this.#timeoutMs), this.#closing.signal]),
    });
  }

  /** Cancels the mails that are under way, so that none of their connections keeps the process alive. */
  close(): void {
    this.#closing.abort(new Error('the sender of mails was closed'));
    this.#closing = new AbortController();
    this.#transport.close();
  }
}

function parseSmtpUrl(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^smtps?:$/.test(parsed.protocol) || parsed.hostname === '') {
    // Does not repeat the URL, which may contain a password.
    throw new ImproperlyConfigured(
      'SmtpEmailSender: option "url" must be smtp://host:port or smtps://host:port (SMTP_URL)',
    );
  }
  return parsed;
}

function hasLineBreak(text: string): boolean {
  return /[\r\n]/.test(text);
}
