import { Unauthorized } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Accounts } from '../accounts/accounts.ts';
import { loginBrowser, rememberLoginBrowser } from '../passkeys/login-browser.ts';
import { refuseDisabled } from '../login/login-failures.ts';
import { ASSERTION } from '../passkeys/passkey-answers.ts';
import type { Passkeys } from '../passkeys/passkeys.ts';
import { bodyReader, RefreshChoice } from './request-body.ts';
import { type AuthRoute, LOGIN_COOKIES } from './auth-route.ts';
import { ACCESS_TOKEN, type CompleteLogin, LOGGED_IN, type LoginAnswer } from '../login/complete-login.ts';
import type { SessionParts } from './sessions.ts';
import { REQUEST_OPTIONS } from './webauthn-options.ts';

export interface PasskeyLoginParts {
  readonly accounts: Accounts;
  readonly passkeys: Passkeys;
  /** Completes a login without asking for a second factor: a passkey that verified its user counts as two factors. */
  readonly finishLogin: CompleteLogin;
  /** Undefined: sessions are off. */
  readonly sessions: SessionParts | undefined;
}

const LOGIN = Type.Object({ passkey: ASSERTION });
const SESSION_LOGIN = Type.Object({ ...LOGIN.properties, refresh: RefreshChoice });
const readLogin = bodyReader(LOGIN, {});
const readSessionLogin = bodyReader(SESSION_LOGIN, {});

const ROUTE = { name: 'login-passkey', method: 'POST', access: 'anybody' } as const;

/** The routes for logging in with a passkey. The passkey identifies the account. */
export function passkeyLoginRoutes({
  accounts,
  passkeys,
  finishLogin,
  sessions,
}: PasskeyLoginParts): readonly AuthRoute[] {
  return [
    {
      ...ROUTE,
      path: 'login/passkey/options',
      operationId: 'passkeyLoginOptions',
      summary: 'Get the options to log in with a passkey',
      description:
        'Sets a cookie, so that only this browser can answer, within five minutes. The options are the same for every account.',
      status: 200,
      answer: REQUEST_OPTIONS,
      cookies: 'A cookie, so that only this browser can answer.',
      errors: [429],
      handler: (request, reply) =>
        passkeys.requestOptions(request, { to: 'login', browser: rememberLoginBrowser(request, reply) }),
    },
    {
      ...ROUTE,
      path: 'login/passkey',
      operationId: 'passkeyLogin',
      summary: 'Exchange the answer of a passkey for an access token',
      description: 'Every invalid passkey gives the same response. A valid one completes the login like a password.',
      body: sessions === undefined ? LOGIN : SESSION_LOGIN,
      status: 200,
      answer: sessions === undefined ? ACCESS_TOKEN : LOGGED_IN,
      cookies: LOGIN_COOKIES,
      errors: [401],
      async handler(request: FastifyRequest, reply: FastifyReply): Promise<LoginAnswer> {
        const { passkey, ...choices } =
          sessions === undefined ? readLogin(request.body) : readSessionLogin(request.body);
        const browser = loginBrowser(request);
        const id = browser === undefined ? undefined : await passkeys.check(request, { to: 'login', browser }, passkey);
        const account = id === undefined ? undefined : await accounts.byId(request.em, id);
        if (account === undefined) throw refused();
        if (!account.is_active) throw refuseDisabled(request, account);
        return finishLogin(request, reply, account, choices);
      },
    },
  ];
}

function refused(): Unauthorized {
  return new Unauthorized('The passkey is not accepted; try again', { event: 'auth.passkey_refused' });
}
