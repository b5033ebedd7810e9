import { ImproperlyConfigured } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { EmailText } from './email-sender.ts';
import type { Mails } from './mails.ts';
import type { VerificationCodes } from './verification-codes.ts';

/** The mails that views send, counted together with codes. */
export class CountedMails {
  readonly #mails: Mails;
  readonly #codes: VerificationCodes;

  constructor(mails: Mails, codes: VerificationCodes) {
    this.#mails = mails;
    this.#codes = codes;
  }

  /**
   * Sends a mail. Throws TooManyRequests if the address got as many as it may, and ServiceUnavailable if the mail could
   * not be sent, which is then not counted.
   */
  async send(request: FastifyRequest, email: string, write: () => EmailText | Promise<EmailText>): Promise<void> {
    const stamp = await this.#codes.countSend(email);
    try {
      await this.#mails.send(email, await write());
    } catch (error) {
      await this.#codes.uncountSend(email, stamp).catch((cause: unknown) => {
        request.log.warn({ err: cause }, 'a mail that was not sent could not be uncounted');
      });
      throw error;
    }
  }
}

/** The mails of applications, by what their requests find as `app.auth`. */
const byInstance = new WeakMap<object, CountedMails>();

export function provideMails(instance: object, mails: CountedMails): void {
  byInstance.set(instance, mails);
}

/** Returns the mails of a request's application. Throws ImproperlyConfigured without the plugin `auth`. */
export function mailsFor(request: FastifyRequest): CountedMails {
  const mails = byInstance.get(request.server.auth);
  if (mails !== undefined) return mails;
  throw new ImproperlyConfigured('a view that sends mail needs the plugin auth with the option "mailer"');
}
