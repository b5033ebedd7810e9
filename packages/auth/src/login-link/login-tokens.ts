import type { KeyRing } from '../secrets/key-ring.ts';
import { SecretBox } from '../secrets/secret-box.ts';

/** An address with the code that was mailed to it. */
export interface MailedCode {
  readonly email: string;
  readonly code: string;
}

const SUBJECT = 'login link';
const CONTENT = /^(\d{6})\n(.+)$/;
/** An address has at most 255 characters. */
const MAX_LENGTH = 1024;

/**
 * Makes the tokens of links: an encrypted code with its address. Nobody can make one that opens, so a wrong token never
 * counts as a wrong code of somebody's address. The address is not readable in the link.
 */
export class LoginTokens {
  readonly #box: SecretBox;

  constructor(keys: KeyRing) {
    this.#box = new SecretBox(keys);
  }

  seal({ email, code }: MailedCode): string {
    return this.#box.seal(`${code}\n${email}`, SUBJECT);
  }

  /** Returns undefined for a text that is no token. */
  open(token: string): MailedCode | undefined {
    const [, code, email] = token.length > MAX_LENGTH ? [] : (CONTENT.exec(this.#box.open(token, SUBJECT) ?? '') ?? []);
    return code === undefined || email === undefined ? undefined : { code, email };
  }
}
