import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { ImproperlyConfigured } from './errors.ts';

const MIN_SECRET_BYTES = 32;
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** What the texts of a seal are for. */
export interface SealPurpose {
  /** Says who needs the secret, in the error of one that is absent or too short. */
  readonly owner: string;
  /** Says what is sealed, in the same error: `cursors`. */
  readonly texts: string;
  /** Derives the key: another one for each purpose. */
  readonly label: string;
}

/**
 * Encrypts texts that clients keep and send back: base64url of an IV, the tag and the ciphertext of AES-256-GCM. The tag covers the basis
 * too, a text that says what the sealed one belongs to, so that none is taken for another. Random IVs of 96 bits serve for 2^32 texts of
 * one secret (NIST SP 800-38D, section 8.3).
 */
export class TextSeal {
  readonly #key: Uint8Array;

  /**
   * @param secret at least 32 bytes; a key of its own is derived from it for each purpose
   * @throws ImproperlyConfigured when it is absent or too short
   */
  constructor({ owner, texts, label }: SealPurpose, secret: string | Uint8Array = '') {
    const bytes = Buffer.byteLength(secret);
    if (bytes < MIN_SECRET_BYTES) {
      const came = bytes === 0 ? 'none came' : `one of ${bytes} bytes came`;
      throw new ImproperlyConfigured(
        `${owner}: ${texts} are encrypted with a secret of at least ${MIN_SECRET_BYTES} bytes, but ${came}; ` +
          'give it to the plugin: app.register(viewset, { orm, secret })',
      );
    }
    this.#key = new Uint8Array(hkdfSync('sha256', secret, '', label, KEY_BYTES));
  }

  seal(basis: string, text: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(basis));
    const parts = [cipher.update(text, 'utf8'), cipher.final()];
    return Buffer.concat([iv, cipher.getAuthTag(), ...parts]).toString('base64url');
  }

  /** Opens what `seal` made for the same basis; undefined for any other text. */
  open(basis: string, sealed: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    // Decoding skips what is not base64url and leaves bits over: only the very text that was given out is taken.
    if (bytes.length < IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== sealed) return undefined;
    const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(basis))
      .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    const text = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES));
    try {
      decipher.final();
    } catch {
      return undefined;
    }
    return text.toString();
  }
}
