import { checkOptionNames, wrongOption } from '@viewset/core';
import type { EmailText } from '../codes/email-sender.ts';
import { lifetimeMsOf } from '../codes/lifetime-hours.ts';
import { maxPerDayOf } from '../codes/max-per-day.ts';
import { linkMaker } from '../codes/link-url.ts';

/** The option `invitations`: accounts that an administrator creates, and whose owner chooses the password. */
export interface InvitationOptions {
  /**
   * The page of your application that the link opens, with `{token}` where the token belongs. The page sends the token
   * and the new password by `POST /accept-invitation`. In the fragment (`#token={token}`) no server gets it.
   */
  readonly url: string;
  /** How long a link is valid, in hours. Default: 168, a week. At most 8760, a year. */
  readonly lifetimeHours?: number;
  /**
   * How many invitations one user who is no administrator may send in 24 hours, repeated ones included. More give 429.
   * Default: 100. At most 10000.
   */
  readonly maxPerDay?: number;
  /** Writes the mail. Default: English, plain text. */
  readonly email?: InvitationEmail;
}

/** The account that a mail invites. */
export interface InvitedAccount {
  readonly email: string;
  readonly name: string;
}

/** Makes the text of the mail with the link of an invitation. */
export type InvitationEmail = (
  link: string,
  account: InvitedAccount,
  validUntil: Date,
) => EmailText | Promise<EmailText>;

/** The option with its defaults, checked. */
export interface ResolvedInvitationOptions {
  readonly linkOf: (token: string) => string;
  readonly lifetimeMs: number;
  readonly maxPerDay: number;
  readonly email: InvitationEmail;
}

const OWNER = 'auth: option "invitations"';

const invitationEmail: InvitationEmail = (link, _account, validUntil) => ({
  subject: 'You are invited',
  content:
    'An account was made for this address. Open this link to choose a password:\n\n' +
    `${link}\n\n` +
    `It can be used once, until ${validUntil.toUTCString()}. A newer link replaces it.\n` +
    'If you did not expect this mail, you can ignore it.\n',
});

/** Throws ImproperlyConfigured with the option, the expected value and the given one. */
export function resolveInvitations(options: InvitationOptions): ResolvedInvitationOptions {
  checkOptionNames(OWNER, options, ['url', 'lifetimeHours', 'maxPerDay', 'email']);
  const { url, lifetimeHours, email = invitationEmail } = options;
  const lifetimeMs = lifetimeMsOf(OWNER, lifetimeHours);
  const maxPerDay = maxPerDayOf(OWNER, options.maxPerDay);
  if (typeof email !== 'function') throw wrongOption(OWNER, 'email', 'a function', email);
  return { linkOf: linkMaker(OWNER, url), lifetimeMs, maxPerDay, email };
}
