import { setTimeout as sleep } from 'node:timers/promises';
import { securityEvent, ServiceUnavailable } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { EmailSender, EmailText, VerificationEmail } from '../email-sender.ts';
import { readAddress, SEND_BODY } from '../request-body.ts';
import { CODE_LIFETIME_SECONDS, type VerificationCodes } from '../verification-codes.ts';
import { type AuthRoute, MESSAGE } from './auth-route.ts';

/** The client has its answer within ten seconds, whatever the sender does. */
const SEND_TIMEOUT_MS = 9_000;

export interface SendParts {
  readonly codes: VerificationCodes;
  readonly mailer: EmailSender;
  readonly verificationEmail: VerificationEmail;
}

export function sendRoute(parts: SendParts): AuthRoute {
  return {
    name: 'send-verification-email',
    method: 'POST',
    path: 'send-verification-email',
    operationId: 'sendVerificationEmail',
    summary: 'Send a verification code to an e-mail address',
    description: 'Answers alike if the address has an account and if it has none.',
    body: SEND_BODY,
    status: 200,
    answer: MESSAGE,
    errors: [429],
    access: 'listed',
    handler: sendHandler(parts),
  };
}

/**
 * Sends a new code to an address. Whether the address has an account is not looked up, so the answer cannot tell. A
 * code that was not sent, for whatever reason, is taken back, and the send does not count.
 */
function sendHandler({ codes, mailer, verificationEmail }: SendParts) {
  return async (request: FastifyRequest): Promise<{ message: string }> => {
    const { email } = readAddress(request.body);
    const stamp = await codes.countSend(email);
    let code: string | undefined;
    try {
      code = await codes.issue(email);
      await deliver(mailer, email, await verificationEmail(code, CODE_LIFETIME_SECONDS / 60));
    } catch (failure) {
      const revoked = code === undefined ? undefined : codes.revoke(email, code);
      await Promise.all([revoked, codes.uncountSend(email, stamp)]).catch((error: unknown) => {
        request.log.warn({ err: error }, 'a verification code that was not sent could not be taken back');
      });
      throw failure;
    }
    request.log.info(securityEvent(request, 'auth.code_sent'), 'a verification code was sent');
    return { message: 'A verification code has been sent' };
  };
}

/** Throws ServiceUnavailable for whatever the mailer throws. */
async function deliver(mailer: EmailSender, email: string, mail: EmailText): Promise<void> {
  const { subject, content, isHtml } = mail;
  try {
    await withinTime(mailer.send(email, subject, content, isHtml ?? false));
  } catch (cause) {
    throw new ServiceUnavailable('The e-mail could not be sent; try again later', { cause });
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
