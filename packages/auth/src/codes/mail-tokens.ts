import type { KeyRing } from '../secrets/key-ring.ts';
import { SecretBox } from '../secrets/secret-box.ts';

/** An address with the secret that was mailed to it. */
export interface MailedSecret {
  readonly email: string;
  readonly secret: string;
}

const CONTENT = /^([\w-]+)\n(.+)$/;
/** An address has at most 255 characters. */
export const MAX_TOKEN_LENGTH = 1024;

/**
 * Makes the tokens of links: an encrypted secret with its address. Nobody can make one that opens, so a wrong token never
 * counts as a wrong code of somebody's address. The address is not readable in the link.
 */
export class MailTokens {
  readonly #box: SecretBox;
  readonly #purpose: string;

  /** @param purpose a token for one purpose opens for no other */
  constructor(keys: KeyRing, purpose: string) {
    this.#box = new SecretBox(keys);
    this.#purpose = purpose;
  }

  seal({ email, secret }: MailedSecret): string {
    return this.#box.seal(`${secret}\n${email}`, this.#purpose);
  }

  /** Returns undefined for a text that is no token. */
  open(token: string): MailedSecret | undefined {
    const text = token.length > MAX_TOKEN_LENGTH ? undefined : this.#box.open(token, this.#purpose);
    const [, secret, email] = CONTENT.exec(text ?? '') ?? [];
    return secret === undefined || email === undefined ? undefined : { secret, email };
  }
}
