import { InvalidUsage, securityEvent, Unauthorized } from '@viewset/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import type { AccountEntity } from '../accounts/account-contract.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { DeviceCookies } from '../browsers/device-cookies.ts';
import type { CheckPassword } from '../login/check-password.ts';
import type { LoginAttempt, LoginAttempts } from '../two-factors/login-attempts.ts';
import { ASSERTION } from '../passkeys/passkey-answers.ts';
import type { PasskeyPurpose, Passkeys } from '../passkeys/passkeys.ts';
import type { RecentProof } from '../login/recent-proof.ts';
import { bodyReader, PROOF, readProof } from './request-body.ts';
import { totpUri } from '../two-factors/totp.ts';
import type { TwoFactors, UsedFactor } from '../two-factors/two-factors.ts';
import {
  NO_TWO_FACTOR_BODY,
  RECOVERY_CODES,
  SECOND_FACTOR_BODY,
  SecondFactorCode,
  TWO_FACTOR,
  TWO_FACTOR_BODY,
  TwoFactorToken,
} from './two-factor-bodies.ts';
import type { GuessLimit } from '../secrets/guess-limit.ts';
import { type AuthRoute, LOGIN_COOKIES, NOTHING } from './auth-route.ts';
import { type CompleteLogin, LOGGED_IN } from '../login/complete-login.ts';
import { REQUEST_OPTIONS } from './webauthn-options.ts';

export interface TwoFactorParts {
  readonly twoFactors: TwoFactors;
  readonly attempts: LoginAttempts;
  /**
   * Blocks accounts with too many wrong codes, across all attempts. A browser that has logged in before has a limit of
   * its own.
   */
  readonly wrongCodes: GuessLimit;
  readonly devices: DeviceCookies;
  /** The name that authenticator apps show; undefined: the host. */
  readonly issuer: string | undefined;
}

export interface TwoFactorRouteParts extends TwoFactorParts {
  readonly accounts: Accounts;
  readonly checkPassword: CheckPassword;
  readonly proveRecently: RecentProof;
  /** Ends a login without asking for a second factor. */
  readonly finishLogin: CompleteLogin;
  /** Undefined: passkeys are off. */
  readonly passkeys: Passkeys | undefined;
}

/** There is no code yet. */
const PASSWORD_PROOF = Type.Object({ password: PROOF.password });
const readCode = bodyReader(TWO_FACTOR_BODY, {});
const readRemoval = bodyReader(NO_TWO_FACTOR_BODY, {});
const readSecondFactor = bodyReader(SECOND_FACTOR_BODY, {});

/** With passkeys, which can replace the code. */
export const SECOND_FACTOR_OPTIONS_BODY = Type.Object({ two_factor_token: TwoFactorToken });
export const CODE_OR_PASSKEY_BODY = Type.Object({
  two_factor_token: TwoFactorToken,
  code: Type.Optional(SecondFactorCode),
  passkey: Type.Optional(ASSERTION),
});
const readOptionsBody = bodyReader(SECOND_FACTOR_OPTIONS_BODY, {});
const readCodeOrPasskey = bodyReader(CODE_OR_PASSKEY_BODY, {});

export function twoFactorRoutes(parts: TwoFactorRouteParts): readonly AuthRoute[] {
  const { passkeys } = parts;
  const shared = { name: 'two-factor', status: 200, errors: [401, 403, 429], access: 'token' } as const;
  return [
    {
      ...shared,
      method: 'POST',
      path: 'two-factor',
      operationId: 'beginTwoFactor',
      summary: 'Get a secret for an authenticator app',
      description:
        'Two factors are on once a code is confirmed. Until then a new call replaces the secret. Takes the password, unless the login is at most ten minutes old.',
      body: PASSWORD_PROOF,
      hasOptionalBody: true,
      answer: TWO_FACTOR,
      errors: [401, 403, 409, 429],
      handler: beginHandler(parts),
    },
    {
      ...shared,
      method: 'POST',
      path: 'two-factor/confirm',
      operationId: 'confirmTwoFactor',
      summary: 'Switch two factors on by a code of the app',
      description: 'Returns ten recovery codes. Each replaces a code of the app once. They are not shown again.',
      body: TWO_FACTOR_BODY,
      answer: RECOVERY_CODES,
      handler: confirmHandler(parts),
    },
    {
      ...shared,
      method: 'DELETE',
      path: 'two-factor',
      operationId: 'destroyTwoFactor',
      summary: 'Switch two factors off',
      description: 'Takes the password, and a code of the app or a recovery code.',
      body: NO_TWO_FACTOR_BODY,
      status: 204,
      answer: NOTHING,
      handler: removeHandler(parts),
    },
    {
      ...shared,
      method: 'POST',
      path: 'login/two-factor',
      operationId: 'loginTwoFactor',
      summary: 'Complete a login by a second factor',
      description: 'Takes the token of the login, and a code. The fifth wrong code ends the attempt.',
      body: passkeys === undefined ? SECOND_FACTOR_BODY : CODE_OR_PASSKEY_BODY,
      answer: LOGGED_IN,
      cookies: LOGIN_COOKIES,
      errors: [401, 429],
      access: 'anybody',
      handler: loginHandler(parts),
    },
    ...(passkeys === undefined ? [] : [passkeyOptionsRoute(parts, passkeys)]),
  ];
}

function passkeyOptionsRoute({ attempts }: TwoFactorRouteParts, passkeys: Passkeys): AuthRoute {
  return {
    name: 'two-factor',
    method: 'POST',
    path: 'login/two-factor/options',
    operationId: 'loginTwoFactorOptions',
    summary: 'Get the options to complete a login by a passkey',
    description:
      'Takes the token of the login. Send the answer of the browser as `passkey` to `login/two-factor`, instead of a code.',
    body: SECOND_FACTOR_OPTIONS_BODY,
    status: 200,
    answer: REQUEST_OPTIONS,
    errors: [401, 429],
    access: 'anybody',
    async handler(request: FastifyRequest) {
      const attempt = attempts.read(readOptionsBody(request.body).two_factor_token);
      if (attempt === undefined) throw isOver();
      return passkeys.requestOptions(request, purposeOf(attempt));
    },
  };
}

function purposeOf({ id, account }: LoginAttempt): PasskeyPurpose {
  return { to: 'end-login', account, attempt: id };
}

function beginHandler({ proveRecently, twoFactors, issuer }: TwoFactorRouteParts) {
  return async (request: FastifyRequest): Promise<Static<typeof TWO_FACTOR>> => {
    const { id, email } = await proveRecently(request, readProof(request.body));
    const secret = await twoFactors.begin(request, id);
    return { secret, uri: totpUri(secret, issuer ?? request.hostname, email) };
  };
}

function confirmHandler({ accounts, twoFactors, wrongCodes }: TwoFactorRouteParts) {
  return async (request: FastifyRequest): Promise<Static<typeof RECOVERY_CODES>> => {
    const { code } = readCode(request.body);
    const { id } = await accounts.ofRequest(request);
    // Without a secret to guess nothing is counted, and its codes are counted separately from those of logins: otherwise
    // a stolen access token could block the owner's logins.
    if (!(await twoFactors.isPending(request.em, id))) throw nothingPending();
    await wrongCodes.check(setupOf(id));
    const recovery_codes = await twoFactors.confirm(request.em, id, code);
    if (recovery_codes === undefined) {
      await wrongCodes.count(setupOf(id));
      throw wrongCode(request, id);
    }
    log(request, 'auth.two_factor_on', id, 'two factors were switched on');
    return { recovery_codes: [...recovery_codes] };
  };
}

/**
 * Throws InvalidUsage unless the code is valid for the account, and uses it up. Throws TooManyRequests while the
 * account is blocked.
 */
export async function checkCode(
  { twoFactors, wrongCodes, devices }: TwoFactorParts,
  request: FastifyRequest,
  { id, email }: AccountEntity,
  code: string,
): Promise<void> {
  const device = devices.knownDevice(request, email);
  const admit = () => wrongCodes.check(subjectOf(id), device);
  await admit();
  if ((await twoFactors.use(request.em, id, code, admit)) !== undefined) return;
  await wrongCodes.count(subjectOf(id), device);
  throw wrongCode(request, id);
}

function removeHandler(parts: TwoFactorRouteParts) {
  const { accounts, checkPassword, twoFactors } = parts;
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { password, code } = readRemoval(request.body);
    const account = await accounts.ofRequest(request);
    const { id } = account;
    await checkPassword(request, account, password, 'password');
    await checkCode(parts, request, account, code);
    await twoFactors.remove(request.em, id);
    log(request, 'auth.two_factor_off', id, 'two factors were switched off');
    return reply.code(204).send();
  };
}

/**
 * Returns the kind of second factor that was proven; undefined if none was.
 *
 * @param admit called before a right code is used up
 */
async function usedFactor(
  { twoFactors, passkeys }: TwoFactorRouteParts,
  request: FastifyRequest,
  attempt: LoginAttempt,
  { code, passkey }: Omit<Static<typeof CODE_OR_PASSKEY_BODY>, 'two_factor_token'>,
  admit: () => Promise<unknown>,
): Promise<UsedFactor | 'passkey' | undefined> {
  if (passkey === undefined) {
    if (code === undefined) throw missingCode();
    return twoFactors.use(request.em, attempt.account, code, admit);
  }
  return (await passkeys?.check(request, purposeOf(attempt), passkey)) === undefined ? undefined : 'passkey';
}

function loginHandler(parts: TwoFactorRouteParts) {
  const { accounts, attempts, wrongCodes, devices, finishLogin, passkeys } = parts;
  const readBody = passkeys === undefined ? readSecondFactor : readCodeOrPasskey;
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { two_factor_token, ...given } = readBody(request.body);
    const attempt = attempts.read(two_factor_token);
    if (attempt === undefined) throw isOver();
    const { account: id, choices } = attempt;
    const account = await accounts.byId(request.em, id);
    // The password may have changed since the first factor. A change after this line makes `finishLogin` fail.
    if (account === undefined || !(await attempts.isOf(attempt, account))) throw isOver();
    const device = devices.knownDevice(request, account.email);
    const admit = () => wrongCodes.check(subjectOf(id), device);
    await admit();
    const used = await usedFactor(parts, request, attempt, given, admit);
    if (used === undefined) {
      await attempts.countWrong(attempt);
      await wrongCodes.count(subjectOf(id), device);
      log(request, 'auth.two_factor_failed', id, 'a second factor was wrong');
      throw new Unauthorized('The code is not correct');
    }
    // The right code after the fifth wrong one is too late.
    if (!(await attempts.finish(attempt))) throw isOver();
    if (used === 'recovery_code') log(request, 'auth.recovery_code_used', id, 'a recovery code was used');
    return finishLogin(request, reply, account, choices);
  };
}

function subjectOf(account: number): string {
  return `two factors of ${account}`;
}

/** The subject of codes that confirm a new secret. */
function setupOf(account: number): string {
  return `setup of two factors of ${account}`;
}

function isOver(): Unauthorized {
  return new Unauthorized('The login is over: begin it again');
}

function missingCode(): InvalidUsage {
  const details = [{ in: 'body', path: '/code', message: 'is required, or a passkey' }] as const;
  return new InvalidUsage('The second factor is missing', { details });
}

function nothingPending(): InvalidUsage {
  const details = [{ in: 'body', path: '/code', message: 'confirms no secret: get one by POST /two-factor' }] as const;
  return new InvalidUsage('There is no secret to confirm', { details });
}

function wrongCode(request: FastifyRequest, account: number): InvalidUsage {
  log(request, 'auth.two_factor_failed', account, 'a second factor was wrong');
  const details = [{ in: 'body', path: '/code', message: 'is not correct' }] as const;
  return new InvalidUsage('The code is not correct', { details });
}

function log(request: FastifyRequest, event: string, account: number, message: string): void {
  request.log.info({ ...securityEvent(request, event), account }, message);
}
