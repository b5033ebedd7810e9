import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceUnavailable } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { EmailSender, EmailText } from './email-sender.ts';

/** The client gets an answer within ten seconds, whatever the sender does. */
const SEND_TIMEOUT_MS = 9_000;

/** The time that a mail waits after the answer: from, and below. */
const DELAY_MS = [10, 100] as const;

/** The mails of the routes: within a time, or after the answer. */
export class Mails {
  readonly #mailer: EmailSender;
  readonly #underWay = new Set<Promise<void>>();

  constructor(mailer: EmailSender) {
    this.#mailer = mailer;
  }

  /** Throws ServiceUnavailable if the mailer throws or takes too long. */
  async send(recipient: string, { subject, content, isHtml }: EmailText): Promise<void> {
    try {
      await withinTime(this.#mailer.send(recipient, subject, content, isHtml ?? false));
    } catch (cause) {
      throw new ServiceUnavailable('The e-mail could not be sent; try again later', { cause });
    }
  }

  /**
   * Runs a step that sends a mail after the answer was sent, so that the answer reveals nothing about it. Failures are
   * logged.
   */
  afterwards(request: FastifyRequest, step: () => Promise<void>): void {
    this.#run(request, new Promise<void>((resolve) => void setImmediate(resolve)).then(step));
  }

  /** Does the same after a random wait, so that the next answer's time reveals nothing either. */
  sometimeAfterwards(request: FastifyRequest, step: () => Promise<void>): void {
    this.#run(request, sleep(randomInt(...DELAY_MS)).then(step));
  }

  #run(request: FastifyRequest, step: Promise<void>): void {
    const sending = step.catch((error: unknown) => {
      request.log.error({ err: error }, 'a mail could not be sent');
    });
    this.#underWay.add(sending);
    void sending.then(() => this.#underWay.delete(sending));
  }

  /** Waits for the mails that are under way, and closes the mailer. */
  async close(): Promise<void> {
    await Promise.all(this.#underWay);
    await this.#mailer.close?.();
  }
}

async function withinTime(sending: Promise<void>): Promise<void> {
  const timer = new AbortController();
  const timeout = sleep(SEND_TIMEOUT_MS, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`The mail was not accepted within ${SEND_TIMEOUT_MS} ms`);
  });
  try {
    await Promise.race([sending, timeout]);
  } finally {
    timer.abort();
    timeout.catch(() => {});
  }
}
