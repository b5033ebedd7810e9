import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isInTime, ServiceUnavailable } from '@viewset/core';
import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import type { EmailSender, EmailText } from './email-sender.ts';

/** The client gets an answer within ten seconds, whatever the sender does. */
const SEND_TIMEOUT_MS = 9_000;

/** How long a closing application waits for its mails, from the start of the last one. It has five seconds to exit. */
const CLOSE_TIMEOUT_MS = 3000;
/** The least time that a mailer has to close. */
const MAILER_CLOSE_MS = 1000;

/** The time that a mail waits after the answer: from, and below. */
const DELAY_MS = [10, 100] as const;

/** The mails of the routes: within a time, or after the answer. */
export class Mails {
  readonly #mailer: EmailSender;
  readonly #underWay = new Set<Promise<void>>();
  readonly #closed = new AbortController();
  readonly #closeTimeoutMs: number;
  /** The time of the last mail after an answer, or of `beginClose()`. */
  #lastBegun = 0;

  constructor(mailer: EmailSender, closeTimeoutMs = CLOSE_TIMEOUT_MS) {
    this.#mailer = mailer;
    this.#closeTimeoutMs = closeTimeoutMs;
  }

  /** Throws ServiceUnavailable if the mailer throws or takes too long. */
  async send(recipient: string, { subject, content, isHtml }: EmailText): Promise<void> {
    try {
      this.#closed.signal.throwIfAborted();
      await withinTime(this.#mailer.send(recipient, subject, content, isHtml ?? false), this.#closed.signal);
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
    this.#lastBegun = performance.now();
    const sending = step.catch((error: unknown) => {
      request.log.error({ err: error }, 'a mail could not be sent');
    });
    this.#underWay.add(sending);
    void sending.then(() => this.#underWay.delete(sending));
  }

  /** Starts the time limit of `close()`. Requests in flight may still send mails, which move the limit. */
  beginClose(): void {
    this.#lastBegun = performance.now();
  }

  /** Waits for the mails that are under way, up to the time limit. Cancels the others, and closes the mailer. */
  async close(log: FastifyBaseLogger): Promise<void> {
    const end = this.#lastBegun + this.#closeTimeoutMs;
    if (!(await isInTime(Promise.all(this.#underWay), end - performance.now()))) {
      log.warn({ mails: this.#underWay.size }, 'mails were not sent before the application closed');
    }
    this.#closed.abort(new Error('the application has closed'));
    const closing = Promise.resolve(this.#mailer.close?.());
    const restMs = Math.max(end - performance.now(), MAILER_CLOSE_MS);
    if (!(await isInTime(closing, restMs))) log.warn({}, 'the mailer did not close in time');
  }
}

/** Throws after the time limit of a mail, or when the application has closed. */
async function withinTime(sending: Promise<void>, closed: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    over.reject(new Error(`The mail was not accepted within ${SEND_TIMEOUT_MS} ms`));
  }, SEND_TIMEOUT_MS);
  const cancel = (): void => over.reject(closed.reason as Error);
  closed.addEventListener('abort', cancel, { once: true });
  try {
    await Promise.race([sending, over.promise]);
  } finally {
    clearTimeout(timer);
    closed.removeEventListener('abort', cancel);
  }
}
