import { securityEvent } from '@viewset/core';
import type { Accounts } from '../accounts/accounts.ts';
import type { DeviceCookies } from '../browsers/device-cookies.ts';
import type { CompleteLogin } from '../login/complete-login.ts';
import { refuseDisabled } from '../login/login-failures.ts';
import type { TwoFactorParts } from '../routes/two-factor.ts';
import { LoginAttempts } from './login-attempts.ts';
import { RecoveryCodes } from './recovery-codes.ts';
import { SecretBox } from '../secrets/secret-box.ts';
import { checkTwoFactor } from './two-factor-contract.ts';
import { TwoFactors } from './two-factors.ts';
import type { Wiring } from '../wiring.ts';
import { codeGuesses, GuessLimit } from '../secrets/guess-limit.ts';

/**
 * Ends a login unless the account has two factors: it then answers the token by which the second one is sent.
 *
 * @param twoFactor undefined: two factors are off
 */
export function requiringSecondFactor(
  completeLogin: CompleteLogin,
  twoFactor: TwoFactorParts | undefined,
  accounts: Accounts,
): CompleteLogin {
  if (twoFactor === undefined) return completeLogin;
  const { twoFactors, attempts } = twoFactor;
  return async (request, reply, account, choices = {}) => {
    if (!(await twoFactors.isOn(request.em, account.id))) return completeLogin(request, reply, account, choices);
    const event = { ...securityEvent(request, 'auth.two_factor_asked'), account: account.id };
    request.log.info(event, 'a login needs a second factor');
    const { id, password = (await accounts.byId(request.em, id))?.password } = account;
    if (password === undefined) throw refuseDisabled(request, account);
    return { two_factor_token: await attempts.begin({ id, password }, choices) };
  };
}

/** Undefined: two factors are off. */
export function twoFactorParts(
  { orm, model, store, options: { twoFactor, keyFor } }: Wiring,
  devices: DeviceCookies,
): TwoFactorParts | undefined {
  if (twoFactor === undefined) return undefined;
  const box = new SecretBox(keyFor('secrets of second factors'));
  const recoveryCodes = new RecoveryCodes(keyFor('recovery codes'));
  return {
    twoFactors: new TwoFactors(checkTwoFactor(orm, twoFactor.entity, model), box, recoveryCodes),
    attempts: new LoginAttempts(store, keyFor('login attempts')),
    wrongCodes: new GuessLimit(store, keyFor('wrong second factors'), codeGuesses('second factors')),
    devices,
    issuer: twoFactor.issuer,
  };
}
