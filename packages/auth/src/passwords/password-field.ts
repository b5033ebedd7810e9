import { checkOptionNames, wrongOption } from '@viewset/core';
import { type TString, Type } from 'typebox';
import { MAX_PASSWORD_BYTES } from './password-hasher.ts';

/** The lengths of a password, in characters. */
export interface PasswordLengths {
  /** Default: 6. */
  readonly minLength?: number;
  /** Default: 50. */
  readonly maxLength?: number;
}

/** The bounds of a password in the write shape of a view. */
export interface PasswordFieldOptions extends PasswordLengths {
  /** The most bytes of UTF-8. Default: 72, because bcrypt reads no more; `argon2` needs no limit. */
  readonly maxBytes?: number;
}

/** Explains why bcrypt cannot take a password, instead of truncating it silently. */
export const TOO_MANY_BYTES = tooManyBytes(MAX_PASSWORD_BYTES);

function tooManyBytes(maxBytes: number): string {
  return `must be at most ${maxBytes} bytes of UTF-8`;
}

/**
 * Makes the schema of a password in a body, for write shapes of accounts. It limits the length in characters, and to 72 bytes of UTF-8,
 * which is all that bcrypt reads. A password outside these bounds gives 400 with the name of the field.
 *
 * @throws ImproperlyConfigured for an unknown option, and for lengths that are not whole numbers or allow no password
 * @example
 * writeShape(Account, ['name', 'email'], { password: passwordField({ minLength: 12 }) });
 * // POST {"password":"short", …} → 400, details: [{ in: 'body', path: '/password', message: 'must be at least 12 characters' }]
 */
export function passwordField(options: PasswordFieldOptions = {}): TString {
  checkOptionNames('passwordField()', options, ['minLength', 'maxLength', 'maxBytes']);
  const { minLength = 6, maxLength = 50, maxBytes = MAX_PASSWORD_BYTES } = options;
  if (!Number.isSafeInteger(minLength) || minLength < 1) {
    throw wrongOption('passwordField()', 'minLength', 'a whole number above 0', minLength);
  }
  if (!Number.isSafeInteger(maxLength) || maxLength < minLength) {
    throw wrongOption('passwordField()', 'maxLength', `a whole number of at least ${minLength}`, maxLength);
  }
  if (typeof maxBytes !== 'number' || !(maxBytes >= 1)) {
    throw wrongOption('passwordField()', 'maxBytes', 'a number above 0', maxBytes);
  }
  // A password that is too long in characters gets only that message, not the one about bytes.
  const fits = (text: unknown): boolean =>
    typeof text !== 'string' || Buffer.byteLength(text) <= maxBytes || Array.from(text).length > maxLength;
  return Type.Refine(Type.String({ minLength, maxLength }), fits, () => tooManyBytes(maxBytes));
}
