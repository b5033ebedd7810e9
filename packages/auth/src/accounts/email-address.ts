/** Longest address in characters, as the account's column has it. */
export const MAX_EMAIL_LENGTH = 255;
/** Longest part in front of the @ (RFC 5321, section 4.5.3.1.1). */
const MAX_LOCAL_LENGTH = 64;

/**
 * RFC 5321's Dot-string before the @ (no quoted strings), and after it a domain of two labels or more. ASCII only: an
 * internationalized domain is written in its `xn--` form. A local part outside ASCII needs SMTPUTF8, which too few
 * servers support for a code to arrive. No accepted address can break out of a mail header or an SMTP command.
 */
const LOCAL = "[a-z0-9!#$%&'*+/=?^_`{|}~-]+";
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
export const EMAIL_PATTERN = `^${LOCAL}(?:\\.${LOCAL})*@(?:${LABEL}\\.)+${LABEL}$`;
const EMAIL = new RegExp(EMAIL_PATTERN);

/**
 * Normalizes an address for comparison and storage: trims white space and converts to lower case. No other character
 * becomes a letter of ASCII: the Kelvin sign (U+212A) and the dotted capital I (U+0130) stay, so that `isEmail` rejects
 * them. Otherwise somebody with the address `mi\u212Ae@example.org` could take the account of `mike@example.org`.
 *
 * @example
 * normalizeEmail(' Ann@Example.com ');          // 'ann@example.com'
 * isEmail(normalizeEmail('mi\u212Ae@ex.org')); // false
 */
export function normalizeEmail(text: string): string {
  return text.trim().replaceAll(/[^\u0130\u212a]+/g, (part) => part.toLowerCase());
}

/** True for a normalized address to which mail can be sent. */
export function isEmail(address: string): boolean {
  // Checks the length first. The pattern is linear, but need not run over a megabyte.
  return address.length <= MAX_EMAIL_LENGTH && address.indexOf('@') <= MAX_LOCAL_LENGTH && EMAIL.test(address);
}
