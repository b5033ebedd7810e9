import { InvalidUsage } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import type { AccountEntity } from '../accounts/account-contract.ts';
import type { DeviceCookies } from '../browsers/device-cookies.ts';
import type { PasswordHasher } from '../passwords/password-hasher.ts';
import { limited } from './verify-login.ts';
import type { GuessLimit } from '../secrets/guess-limit.ts';

export interface CheckPasswordParts {
  readonly hasher: PasswordHasher;
  readonly wrongPasswords: GuessLimit;
  readonly devices: DeviceCookies;
}

/**
 * Throws InvalidUsage if the password is not the account's, which counts as a wrong password of the account, and
 * TooManyRequests while logins of the account are blocked.
 *
 * @param field the body's field that contained the password
 */
export type CheckPassword = (
  request: FastifyRequest,
  account: AccountEntity,
  password: string,
  field: string,
) => Promise<void>;

export function passwordCheck({ hasher, wrongPasswords, devices }: CheckPasswordParts): CheckPassword {
  return async (request, account, password, field) => {
    const device = devices.knownDevice(request, account.email);
    await limited(request, () => wrongPasswords.check(account.email, device));
    if (await hasher.matches(password, account.password)) {
      return limited(request, () => wrongPasswords.check(account.email, device));
    }
    await limited(request, () => wrongPasswords.count(account.email, device));
    const details = [{ in: 'body', path: `/${field}`, message: 'is not the password of the account' }] as const;
    throw new InvalidUsage('The password is not correct', { details, event: 'auth.password_refused' });
  };
}
