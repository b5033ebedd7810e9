import { securityEvent, Unauthorized } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import type { AccountEntity } from '../accounts/account-contract.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { DeviceCookies } from '../browsers/device-cookies.ts';
import type { CodeMails } from '../codes/code-mails.ts';
import { MAX_TOKEN_LENGTH, type MailTokens } from '../codes/mail-tokens.ts';
import type { Mails } from '../codes/mails.ts';
import type { VerificationCodes } from '../codes/verification-codes.ts';
import type { CompleteLogin, LoginAnswer } from '../login/complete-login.ts';
import { refuseDisabled } from '../login/login-failures.ts';
import type { KeyRing } from '../secrets/key-ring.ts';
import { type AuthRoute, LOGIN_COOKIES, MESSAGE } from './auth-route.ts';
import { bodyReader, readAddress, RefreshChoice, SEND_BODY } from './request-body.ts';
import { useCode } from './use-code.ts';

/** What the option `loginLink` adds. */
export interface LoginLinkParts {
  readonly loginCodes: VerificationCodes;
  readonly loginMails: CodeMails;
  readonly tokens: MailTokens;
  /** Keys the part of a code's note that belongs to the password. */
  readonly keys: KeyRing;
}

export interface LoginLinkRouteParts extends LoginLinkParts {
  readonly accounts: Accounts;
  readonly devices: DeviceCookies;
  readonly mails: Mails;
  readonly completeLogin: CompleteLogin;
  /** True if sessions are on. */
  readonly hasSessions: boolean;
  /** The schema of a login's response. */
  readonly answer: TSchema;
}

const CONFIRM = Type.Object({ token: Type.String({ minLength: 1, maxLength: MAX_TOKEN_LENGTH }) });
const SESSION_CONFIRM = Type.Object({ ...CONFIRM.properties, refresh: RefreshChoice });
const readConfirm = bodyReader(CONFIRM, {});
const readSessionConfirm = bodyReader(SESSION_CONFIRM, {});
export type LoginLinkBody = Static<typeof SESSION_CONFIRM>;

const EVENT = 'auth.login_link_refused';
const ROUTE = { name: 'login-link', method: 'POST', access: 'anybody', status: 200 } as const;

/** The routes for logging in by a link in a mail. No GET uses a link up, because scanners of mails open each link. */
export function loginLinkRoutes(parts: LoginLinkRouteParts): readonly AuthRoute[] {
  return [
    {
      ...ROUTE,
      path: 'login-link',
      operationId: 'sendLoginLink',
      summary: 'Send a link to log in to the address of an account',
      description: 'The response and its time are the same, whether or not the address has an account.',
      body: SEND_BODY,
      answer: MESSAGE,
      errors: [429],
      handler: sendHandler(parts),
    },
    {
      ...ROUTE,
      path: 'login-link/confirm',
      operationId: 'confirmLoginLink',
      summary: 'Exchange the token of a link for an access token',
      description:
        'Uses up the link. All wrong tokens give the same response. An account with two factors still needs its second one.',
      body: parts.hasSessions ? SESSION_CONFIRM : CONFIRM,
      answer: parts.answer,
      cookies: LOGIN_COOKIES,
      errors: [401, 429],
      handler: confirmHandler(parts),
    },
  ];
}

/** Does the same for every address until the response is sent, as `forgot-password` does. */
function sendHandler({ accounts, mails, loginMails, keys }: LoginLinkRouteParts) {
  return async (request: FastifyRequest): Promise<Static<typeof MESSAGE>> => {
    const { email } = readAddress(request.body);
    const account = await accounts.withoutRole(request.em, email);
    const { id, password } = account ?? { id: 0, password: '' };
    const note = `${id} ${keys.hash(boundText(id, password))}`;
    const deliver = await loginMails.prepare(request, { email, note });
    if (account?.is_active === true) {
      mails.sometimeAfterwards(request, async () => {
        await deliver();
        const event = { ...securityEvent(request, 'auth.login_link_sent'), account: id };
        request.log.info(event, 'a link to log in was sent');
      });
    }
    return { message: 'If the address has an account, a link to log in has been sent to it' };
  };
}

function confirmHandler(parts: LoginLinkRouteParts) {
  const { accounts, devices, loginCodes, tokens, keys, completeLogin, hasSessions } = parts;
  return async (request: FastifyRequest, reply: FastifyReply): Promise<LoginAnswer> => {
    const { token, ...choices } = hasSessions ? readSessionConfirm(request.body) : readConfirm(request.body);
    const mailed = tokens.open(token);
    if (mailed === undefined) throw refused();
    const { email: key, secret: code } = mailed;
    const sent = { key, code, device: devices.knownDevice(request, key), isNoted: true, event: EVENT, refused };
    return useCode(request, loginCodes, sent, async (note) => {
      const account = await accounts.byEmail(request.em, key);
      // The address may have moved to another account, or the password may have changed since the link was sent.
      if (account === undefined || !isBoundTo(keys, note, account)) throw refused();
      if (!account.is_active) throw refuseDisabled(request, account);
      return completeLogin(request, reply, account, choices);
    });
  };
}

/** A link is bound to the account and to its password, so that a new password voids it. */
function boundText(id: number, password: string): string {
  return `password of ${id}\n${password}`;
}

function isBoundTo(keys: KeyRing, note: string, { id, password }: AccountEntity): boolean {
  const [known, hash = ''] = note.split(' ');
  return known === String(id) && keys.made(hash, boundText(id, password));
}

function refused(): Unauthorized {
  return new Unauthorized('The link is wrong, has expired or was used; ask for a new one', { event: EVENT });
}
