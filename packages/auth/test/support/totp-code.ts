import { TOTP } from 'otpauth';

/** The time for which a code is good. */
export const STEP_MS = 30_000;

/** The code of an authenticator app, so many steps from now. */
export function codeOf(secret: string, steps = 0): string {
  return new TOTP({ secret }).generate({ timestamp: Date.now() + steps * STEP_MS });
}
