import { setTimeout as sleep } from 'node:timers/promises';

/** A mail in a `MailBox`. */
export interface CaughtMail {
  readonly recipient: string;
  readonly subject: string;
  readonly content: string;
  readonly isHtml: boolean;
}

const WAIT_MS = 2000;
const STEP_MS = 5;

/**
 * Keeps mails instead of sending them. Use it as the `mailer` of `@viewset/auth`. Some mails are sent after the
 * response, so `last` and `code` wait up to two seconds for a mail that they have not returned yet.
 *
 * @example
 * const mails = new MailBox();
 * await mails.send('ada@example.com', 'Your code', 'It is 123456.');
 * await mails.code('ada@example.com');   // '123456'
 */
export class MailBox {
  /** Every mail so far. */
  readonly all: CaughtMail[] = [];
  #unread: CaughtMail[] = [];

  /** Keeps a mail. Implements `EmailSender`. */
  send(recipient: string, subject: string, content: string, isHtml = false): Promise<void> {
    const mail = { recipient, subject, content, isHtml };
    this.all.push(mail);
    this.#unread.push(mail);
    return Promise.resolve();
  }

  /**
   * Returns the newest mail to an address. Each mail is returned once: the next call waits for another one. Throws if
   * no mail comes.
   */
  async last(recipient: string): Promise<CaughtMail> {
    for (let waitedMs = 0; ; waitedMs += STEP_MS) {
      const found = this.#unread.findLast((mail) => mail.recipient === recipient);
      if (found !== undefined) {
        this.#unread = this.#unread.filter((mail) => mail.recipient !== recipient);
        return found;
      }
      if (waitedMs >= WAIT_MS) throw new Error(`No new mail to ${recipient}; there is mail to ${this.#recipients()}`);
      await sleep(STEP_MS);
    }
  }

  /** Returns the six-digit code in the newest mail to an address, with `last`. */
  async code(recipient: string): Promise<string> {
    const { subject, content } = await this.last(recipient);
    const code = /(?<!\d)\d{6}(?!\d)/.exec(content)?.[0];
    if (code === undefined) throw new Error(`The mail "${subject}" to ${recipient} has no code of six digits`);
    return code;
  }

  #recipients(): string {
    return [...new Set(this.all.map(({ recipient }) => recipient))].join(', ') || 'nobody';
  }
}
