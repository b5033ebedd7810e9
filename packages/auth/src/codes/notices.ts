import type { Store } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { hitEach } from '../secrets/hit-each.ts';
import type { KeyRing } from '../secrets/key-ring.ts';
import type { EmailText } from './email-sender.ts';
import type { Mails } from './mails.ts';

/** This many notices go to one address in any 24 hours. They are not counted with the codes, which anybody can ask for. */
const MAX_PER_DAY = 10;
const DAY_MS = 86_400_000;

/** Notices to the owners of accounts, which are sent after the response. */
export class Notices {
  readonly #mails: Mails;
  readonly #store: Store;
  readonly #keys: KeyRing;

  constructor(mails: Mails, store: Store, keys: KeyRing) {
    this.#mails = mails;
    this.#store = store;
    this.#keys = keys;
  }

  /** @param write makes the text, after the response was sent */
  send(request: FastifyRequest, email: string, write: () => EmailText | Promise<EmailText>): void {
    this.#mails.afterwards(request, async () => {
      if (await this.#isAllowed(request, email)) await this.#mails.send(email, await write());
      else request.log.warn('a notice was not sent, because its address got as many as it may in a day');
    });
  }

  async #isAllowed(request: FastifyRequest, email: string): Promise<boolean> {
    try {
      const keys = this.#keys.hashes(email).map((hash) => `auth:notices:${hash}`);
      return (await hitEach(this.#store, keys, MAX_PER_DAY, DAY_MS)).allowed;
    } catch (error) {
      request.log.warn({ err: error }, 'the store does not answer: a notice is sent uncounted');
      return true;
    }
  }
}
