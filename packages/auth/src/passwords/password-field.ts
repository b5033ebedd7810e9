import { checkOptionNames, wrongOption } from '@viewset/core';
import { type TString, Type } from 'typebox';
import { MAX_PASSWORD_BYTES } from './password-hasher.ts';

/** The lengths of a password, in characters. */
export interface PasswordLengths {
  /** Default: 6. */
  readonly minLength?: number;
  /** Default: 50. At most 1024. */
  readonly maxLength?: number;
}

/** The bounds of a password in the write shape of a view. */
export interface PasswordFieldOptions extends PasswordLengths {
  /** The most bytes of UTF-8. Default: 72, because bcrypt reads no more; `argon2` needs no limit. */
  readonly maxBytes?: number;
}

/**
 * The most characters that `maxLength` may allow. The composed form (NFC) of a character is at most four characters in
 * the decomposed form, which some systems send.
 */
const MOST_CHARACTERS = 1024;
/** The most characters in which a client can send a password, in any form of Unicode. */
export const MAX_SENT_CHARACTERS = 4 * MOST_CHARACTERS;

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
  if (!Number.isSafeInteger(maxLength) || maxLength < minLength || maxLength > MOST_CHARACTERS) {
    const expected = `a whole number of at least ${minLength} and at most ${MOST_CHARACTERS}`;
    throw wrongOption('passwordField()', 'maxLength', expected, maxLength);
  }
  if (typeof maxBytes !== 'number' || !(maxBytes >= 1)) {
    throw wrongOption('passwordField()', 'maxBytes', 'a number above 0', maxBytes);
  }
  // A password that is too long in characters gets only that message, not the one about bytes.
  const fits = (text: unknown): boolean =>
    typeof text !== 'string' || Buffer.byteLength(text) <= maxBytes || Array.from(text).length > maxLength;
  return Type.Refine(Type.String({ minLength, maxLength }), fits, () => tooManyBytes(maxBytes));
}
