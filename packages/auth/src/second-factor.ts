import { securityEvent } from '@viewset/core';
import type { CompleteLogin } from './routes/complete-login.ts';
import type { TwoFactorParts } from './routes/two-factor.ts';

/** Ends a login unless the account has two factors: it then answers the token by which the second one is sent. */
export function askingSecondFactor(
  completeLogin: CompleteLogin,
  { twoFactors, attempts }: TwoFactorParts,
): CompleteLogin {
  return async (request, reply, account, choices = {}) => {
    if (!(await twoFactors.isOn(request.em, account.id))) return completeLogin(request, reply, account, choices);
    const event = { ...securityEvent(request, 'auth.two_factor_asked'), account: account.id };
    request.log.info(event, 'a login needs a second factor');
    return { two_factor_token: await attempts.begin(account.id, choices) };
  };
}
