import type { FastifyRequest } from 'fastify';
import type { PasswordChangeNotice } from '../codes/email-sender.ts';
import type { Mails } from '../codes/mails.ts';

/** Tells owners of accounts that their password has changed, after the answer is sent. */
export class PasswordNotices {
  readonly #mails: Mails;
  readonly #words: PasswordChangeNotice;

  constructor(mails: Mails, words: PasswordChangeNotice) {
    this.#mails = mails;
    this.#words = words;
  }

  send(request: FastifyRequest, email: string, how: 'changed' | 'reset'): void {
    this.#mails.afterwards(request, async () => this.#mails.send(email, await this.#words(how)));
  }
}
