import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { KeyRing } from './key-ring.ts';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts texts (AES-256-GCM) with the first key of a ring, and decrypts with all. Each text is bound to a subject: moved to another one, such as another account's record, it cannot
 * be read.
 */
export class SecretBox {
  readonly #keys: KeyRing;

  constructor(keys: KeyRing) {
    this.#keys = keys;
  }

  seal(text: string, subject: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#keys.keys[0]!, nonce).setAAD(Buffer.from(subject));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
  }

  /** Returns undefined for a text that was sealed with none of the keys for this subject. */
  open(sealed: string, subject: string): string | undefined {
    for (const key of this.#keys.keys) {
      const text = opened(sealed, key, subject);
      if (text !== undefined) return text;
    }
    return undefined;
  }

  /** True if the first key sealed the text. Otherwise it should be sealed again, before its key is removed. */
  isCurrent(sealed: string, subject: string): boolean {
    return opened(sealed, this.#keys.keys[0]!, subject) !== undefined;
  }
}

function opened(sealed: string, key: Uint8Array, subject: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64url');
  const [nonce, tag] = [bytes.subarray(0, NONCE_BYTES), bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)];
  try {
    const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(subject)).setAuthTag(tag);
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString();
  } catch {
    return undefined;
  }
}
