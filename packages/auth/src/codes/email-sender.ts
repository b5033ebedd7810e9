import { ImproperlyConfigured } from '@viewset/core';
import type { FastifyBaseLogger } from 'fastify';
import type { RemainingAccess } from '../accounts/remaining-access.ts';

/**
 * Sends mail. Implement it for a provider without SMTP. If it throws, the client gets 503 and the log has the error.
 *
 * @example
 * const mailer: EmailSender = { send: (recipient, subject, content) => provider.send({ to: recipient, subject, text: content }) };
 */
export interface EmailSender {
  /**
   * Resolves when the mail is accepted for delivery.
   * @param recipient one address, as `name@example.com`
   * @param isHtml true if `content` is HTML; default: false, plain text
   */
  send(recipient: string, subject: string, content: string, isHtml?: boolean): Promise<void>;
  /**
   * Called once, when the application has closed. It waits for the result for at least a second. Cancel the mails that are
   * under way, because an open connection keeps the process alive.
   */
  close?(): Promise<void> | void;
}

/** Writes mail to the log at info level, instead of sending it. For development without a mail server. */
export class LogEmailSender implements EmailSender {
  readonly #log: Pick<FastifyBaseLogger, 'info'>;

  /** Throws ImproperlyConfigured without a log. */
  constructor(log: Pick<FastifyBaseLogger, 'info'>) {
    if (typeof (log as typeof log | undefined)?.info !== 'function') {
      throw new ImproperlyConfigured('LogEmailSender needs a log, such as `app.log`');
    }
    this.#log = log;
  }

  async send(recipient: string, subject: string, content: string, isHtml = false): Promise<void> {
    this.#log.info({ mail: { recipient, subject, content, is_html: isHtml } }, `mail to ${recipient}`);
  }
}

/** A mail, ready to be sent. */
export interface EmailText {
  readonly subject: string;
  readonly content: string;
  /** Default: false, plain text. */
  readonly isHtml?: boolean;
}

/**
 * Makes the text of the mail with a verification code. Replace it for another language or other words.
 *
 * @param purpose the purpose of the code: `registration`, `password-reset` or `email-change`
 */
export type VerificationEmail = (code: string, validMinutes: number, purpose: string) => EmailText | Promise<EmailText>;

const PURPOSES: Readonly<Record<string, readonly [subject: string, code: string]>> = {
  'password-reset': ['Your new password', 'code for a new password'],
  'email-change': ['Your new e-mail address', 'code for this e-mail address'],
};

export const verificationEmail: VerificationEmail = (code, validMinutes, purpose) => {
  const [subject, name] = PURPOSES[purpose] ?? ['Your verification code', 'verification code'];
  return {
    subject,
    content:
      `Your ${name} is ${code}.\n\n` +
      `It is valid for ${validMinutes} minutes and can be used once.\n` +
      'If you did not ask for it, you can ignore this mail.\n',
  };
};

/** Makes the text of the mail to the old address of an account, when its owner asks for another address. */
export type EmailChangeNotice = () => EmailText | Promise<EmailText>;

export const emailChangeNotice: EmailChangeNotice = () => ({
  subject: 'Your e-mail address is about to change',
  content:
    'Somebody who knows your password asked to give your account another e-mail address.\n\n' +
    'If that was not you, change your password now.\n',
});

/**
 * Makes the text of the mail to the owner of an account after its password has changed.
 *
 * @param how `changed` with the old password, or `reset` by a code that was sent to the address
 * @param access what else gives access to the account. A thief may have added it.
 */
export type PasswordChangeNotice = (
  how: 'changed' | 'reset',
  access: RemainingAccess,
) => EmailText | Promise<EmailText>;

const CHANGES = {
  changed: 'Somebody who knows your password gave your account another one.',
  reset: 'The password of your account was reset by a code that was sent to this address.',
};

export const passwordChangeNotice: PasswordChangeNotice = (how, access) => ({
  subject: 'Your password was changed',
  content:
    `${CHANGES[how]}\n\n${accessText(access)}` +
    'If that was not you, ask for a new password now, and tell the operator of this service.\n',
});

/** Lists what a new password does not revoke; empty if there is nothing. */
function accessText({ api_keys, passkeys, services, two_factor }: RemainingAccess): string {
  const lists = [
    ['API keys', api_keys],
    ['passkeys', passkeys],
    ['other services', services],
    ['second factor', two_factor ? ['on'] : []],
  ] as const;
  const lines = lists
    .filter(([, names]) => names.length > 0)
    // The names are texts of users, and must not look like other lines of the mail.
    .map(([kind, names]) => `- ${kind}: ${names.map((name) => name.replaceAll(/\p{C}+/gu, ' ')).join(', ')}\n`);
  if (lines.length === 0) return '';
  return `The new password does not change these. Remove what you do not know:\n${lines.join('')}\n`;
}
