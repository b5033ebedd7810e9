/** Longest address in characters, as the account's column has it. */
export const MAX_EMAIL_LENGTH = 255;
/** Longest part in front of the @ (RFC 5321, section 4.5.3.1.1). */
const MAX_LOCAL_LENGTH = 64;

/**
 * RFC 5321's Dot-string before the @ (no quoted strings), and after it a domain of two labels or more. ASCII alone: an
 * internationalized domain is written in its `xn--` form, and a local part outside ASCII needs SMTPUTF8, which too few
 * servers speak for a code to arrive. Nothing that it accepts can break out of a mail header or an SMTP command.
 */
const LOCAL = "[a-z0-9!#$%&'*+/=?^_`{|}~-]+";
const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
export const EMAIL_PATTERN = `^${LOCAL}(?:\\.${LOCAL})*@(?:${LABEL}\\.)+${LABEL}$`;
const EMAIL = new RegExp(EMAIL_PATTERN);

/** Returns the form in which addresses are compared and stored: without surrounding white space, in lower case. */
export function normalizeEmail(text: string): string {
  return text.trim().toLowerCase();
}

/** Tells if mail can be sent to a normalized address. */
export function isEmail(address: string): boolean {
  // The length first: the pattern is linear, but there is no need to run it over a megabyte.
  return address.length <= MAX_EMAIL_LENGTH && address.indexOf('@') <= MAX_LOCAL_LENGTH && EMAIL.test(address);
}
