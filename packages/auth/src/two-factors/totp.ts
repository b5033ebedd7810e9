import { Secret, TOTP } from 'otpauth';

/** RFC 6238 with settings that every authenticator app supports: SHA-1, six digits, steps of 30 seconds. */
const SETTINGS = { algorithm: 'SHA1', digits: 6, period: 30 } as const;
/** Codes from this many steps before and after now are accepted, because clocks differ and typing takes time. */
const WINDOW = 1;
const CODE = /^\d{6}$/;

/** Makes a secret of 160 bits, as base32. */
export function makeTotpSecret(): string {
  return new Secret({ size: 20 }).base32;
}

/** The text of the QR code that an authenticator app reads. */
export function totpUri(secret: string, issuer: string, label: string): string {
  return new TOTP({ ...SETTINGS, secret, issuer, label }).toString();
}

export function isTotpCode(text: string): boolean {
  return CODE.test(text);
}

/** Returns the number of the time step that a code belongs to; undefined if it is wrong, or of another time. */
export function totpStepOf(secret: string, code: string, nowMs: number): number | undefined {
  const delta = new TOTP({ ...SETTINGS, secret }).validate({ token: code, timestamp: nowMs, window: WINDOW });
  return delta === null ? undefined : Math.floor(nowMs / 1000 / SETTINGS.period) + delta;
}
