import { clientNetwork } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { DeviceCookies } from '../browsers/device-cookies.ts';
import type { EmailText } from './email-sender.ts';
import type { Mails } from './mails.ts';
import { CODE_LIFETIME_SECONDS, type VerificationCodes } from './verification-codes.ts';

/** The recipient and use of a code. */
export interface CodeSubject {
  /** The address that the code goes to. */
  readonly email: string;
  /** The key under which the code is stored. Default: the address. */
  readonly key?: string;
  /** The value that the code confirms. */
  readonly note?: string;
}

/** Makes the text of the mail with a code. */
export type CodeText = (
  code: string,
  validMinutes: number,
  purpose: string,
  email: string,
) => EmailText | Promise<EmailText>;

/** Codes of one purpose that go out by mail. */
export class CodeMails {
  readonly #codes: VerificationCodes;
  readonly #mails: Mails;
  readonly #words: CodeText;
  readonly #devices: DeviceCookies;

  constructor(codes: VerificationCodes, mails: Mails, words: CodeText, devices: DeviceCookies) {
    this.#codes = codes;
    this.#mails = mails;
    this.#devices = devices;
    this.#words = words;
  }

  /** Makes a code and sends it. Throws TooManyRequests, and ServiceUnavailable if the mail could not be sent. */
  async send(request: FastifyRequest, subject: CodeSubject): Promise<void> {
    const deliver = await this.prepare(request, subject);
    await deliver();
  }

  /**
   * Makes a code, and returns the function that sends it. If the mail is not sent, for whatever reason, revokes the
   * code and does not count the send.
   */
  async prepare(request: FastifyRequest, { email, key = email, note }: CodeSubject): Promise<() => Promise<void>> {
    const codes = this.#codes;
    const device = this.#devices.knownDevice(request, email);
    const send = await codes.countSend(email, { network: clientNetwork(request), device });
    let code: string | undefined;
    const unlessItFails = async <Result>(step: () => Promise<Result>): Promise<Result> => {
      try {
        return await step();
      } catch (failure) {
        const revoked = code === undefined ? undefined : codes.revoke(key, code);
        await Promise.all([revoked, codes.uncountSend(email, send)]).catch((error: unknown) => {
          request.log.warn({ err: error }, 'a verification code that was not sent could not be taken back');
        });
        throw failure;
      }
    };
    const made = await unlessItFails(async () => (code = await codes.issue(key, note)));
    return () =>
      unlessItFails(async () => {
        await this.#mails.send(email, await this.#words(made, CODE_LIFETIME_SECONDS / 60, codes.purpose, email));
      });
  }
}
