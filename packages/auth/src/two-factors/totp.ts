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

/**
 * Returns the number of the time step that a code belongs to; undefined if it is wrong, or of another time. Two steps may
 * have the same code: then it belongs to the first one that is not used.
 *
 * @param lastStep the last step whose code was used; null for none
 */
export function totpStepOf(secret: string, code: string, nowMs: number, lastStep: number | null): number | undefined {
  const totp = new TOTP({ ...SETTINGS, secret });
  const now = Math.floor(nowMs / 1000 / SETTINGS.period);
  const steps = Array.from({ length: 2 * WINDOW + 1 }, (_, index) => now - WINDOW + index);
  return steps
    .filter((step) => lastStep === null || step > lastStep)
    .find((step) => totp.validate({ token: code, timestamp: step * SETTINGS.period * 1000, window: 0 }) !== null);
}
