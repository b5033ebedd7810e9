import { ImproperlyConfigured, type Store, TooManyRequests } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { EmailText } from './email-sender.ts';
import type { Mails } from './mails.ts';
import { hitEach, undoEach } from '../secrets/hit-each.ts';
import type { KeyRing } from '../secrets/key-ring.ts';
import type { CountedSend, VerificationCodes } from './verification-codes.ts';

export interface CountedMailParts {
  readonly mails: Mails;
  /** Counts the mails to each address. */
  readonly counters: VerificationCodes;
  readonly store: Store;
  readonly keys: KeyRing;
}

/** The user who sends a mail. */
export interface MailSender {
  readonly id: unknown;
  /** The most mails in any 24 hours. */
  readonly maxPerDay: number;
}

const DAY_MS = 86_400_000;
const TOO_MANY = 'Too many mails were sent to this address; try again later';
const SENT_TOO_MANY = 'You have sent too many invitations; try again later';

/** The mails that views send for users. They are counted separately from codes, which nobody else can use up then. */
export class CountedMails {
  readonly #mails: Mails;
  readonly #counters: VerificationCodes;
  readonly #store: Store;
  readonly #keys: KeyRing;

  constructor({ mails, counters, store, keys }: CountedMailParts) {
    this.#mails = mails;
    this.#counters = counters;
    this.#store = store;
    this.#keys = keys;
  }

  /**
   * Sends a mail. Throws TooManyRequests if the address got, or the sender has sent, as many as allowed. Throws
   * ServiceUnavailable if the mail could not be sent, which is then not counted.
   *
   * @param sender the user whose mails are limited; undefined: only those of the address are
   */
  async send(
    request: FastifyRequest,
    email: string,
    write: () => EmailText | Promise<EmailText>,
    sender?: MailSender,
  ): Promise<void> {
    const uncount = sender === undefined ? undefined : await this.#count(sender);
    let stamp: CountedSend | undefined;
    try {
      stamp = await this.#counters.countSend(email, { message: TOO_MANY });
      await this.#mails.send(email, await write());
    } catch (error) {
      try {
        await uncount?.();
        if (stamp !== undefined) await this.#counters.uncountSend(email, stamp);
      } catch (cause) {
        request.log.warn({ err: cause }, 'a mail that was not sent could not be uncounted');
      }
      throw error;
    }
  }

  /** Counts a mail of a sender, and returns the function that removes it from the count. */
  async #count({ id, maxPerDay }: MailSender): Promise<() => Promise<void>> {
    const keys = this.#keys.hashes(`account ${String(id)}`).map((hash) => `auth:mails-of:${hash}`);
    const { allowed, stamps, retryAfterMs } = await hitEach(this.#store, keys, maxPerDay, DAY_MS);
    if (!allowed) throw new TooManyRequests(retryAfterMs / 1000, SENT_TOO_MANY);
    return () => undoEach(this.#store, keys, stamps);
  }
}

/** The mails of applications, by what their requests find as `app.auth`. */
const byInstance = new WeakMap<object, CountedMails>();

export function provideMails(instance: object, mails: CountedMails): void {
  byInstance.set(instance, mails);
}

/** Returns the mails of a request's application. Throws ImproperlyConfigured without the plugin `auth`. */
export function mailsFor(request: FastifyRequest): CountedMails {
  return mailsIn(request.server.auth);
}

/** Returns the mails of an application, by its `app.auth`. Throws ImproperlyConfigured without a mailer. */
export function mailsIn(instance: object): CountedMails {
  const mails = byInstance.get(instance);
  if (mails !== undefined) return mails;
  throw new ImproperlyConfigured('a view that sends mail needs the plugin auth with the option "mailer"');
}
