import { checkOptionNames, wrongOption } from '@viewset/core';
import type { EmailText } from '../codes/email-sender.ts';
import { linkMaker } from '../codes/link-url.ts';

/** The option `loginLink`: logins by a link in a mail. */
export interface LoginLinkOptions {
  /**
   * The page of your application that the link opens, with `{token}` where the token belongs. The page sends the token
   * by `POST /login-link/confirm` when its user clicks. In the fragment (`#token={token}`) no server gets it.
   */
  readonly url: string;
  /** Writes the mail. Default: English, plain text. */
  readonly email?: LoginLinkEmail;
}

/** Makes the text of the mail with a link that logs in. */
export type LoginLinkEmail = (link: string, validMinutes: number) => EmailText | Promise<EmailText>;

/** The option with its defaults, checked. */
export interface ResolvedLoginLinkOptions {
  readonly linkOf: (token: string) => string;
  readonly email: LoginLinkEmail;
}

const OWNER = 'auth: option "loginLink"';

const loginLinkEmail: LoginLinkEmail = (link, validMinutes) => ({
  subject: 'Your link to log in',
  content:
    `Open this link to log in:\n\n${link}\n\n` +
    `It is valid for ${validMinutes} minutes and can be used once. A newer link replaces it.\n` +
    'If you did not ask for it, you can ignore this mail. Do not pass the link on.\n',
});

/** Throws ImproperlyConfigured with the option, the expected value and the given one. */
export function resolveLoginLink(options: LoginLinkOptions): ResolvedLoginLinkOptions {
  checkOptionNames(OWNER, options, ['url', 'email']);
  const { url, email = loginLinkEmail } = options;
  if (typeof email !== 'function') throw wrongOption(OWNER, 'email', 'a function', email);
  return { linkOf: linkMaker(OWNER, url), email };
}
