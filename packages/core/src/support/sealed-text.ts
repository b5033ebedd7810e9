import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { ImproperlyConfigured } from '../errors/errors.ts';

const MIN_SECRET_BYTES = 32;
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** The purpose of a seal. */
export interface SealPurpose {
  /** The part of the program that needs the secret, for the error if the secret is missing or too short. */
  readonly owner: string;
  /** The texts to seal, in the same error: `cursors`. */
  readonly texts: string;
  /** The label to derive the key from. Each purpose has another key. */
  readonly label: string;
}

/**
 * Encrypts texts that clients keep and send back: base64url of an IV, the tag and the ciphertext of AES-256-GCM. The
 * tag also covers the basis, a text that names the context. So a sealed text is not valid in another context. Random
 * 96-bit IVs are safe for 2^32 texts of one secret (NIST SP 800-38D, section 8.3).
 */
export class TextSeal {
  readonly #key: Uint8Array;

  /**
   * @param secret at least 32 bytes; a separate key is derived from it for each purpose
   * @throws ImproperlyConfigured if it is missing or too short
   */
  constructor({ owner, texts, label }: SealPurpose, secret: string | Uint8Array = '') {
    const bytes = Buffer.byteLength(secret);
    if (bytes < MIN_SECRET_BYTES) {
      const received = bytes === 0 ? 'none' : `one of ${bytes} bytes`;
      throw new ImproperlyConfigured(
        `${owner}: ${texts} are encrypted with a secret of at least ${MIN_SECRET_BYTES} bytes, got ${received}; ` +
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

  /** Opens a text that `seal` made for the same basis. Returns undefined for any other text. */
  open(basis: string, sealed: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    // Decoding skips characters outside of base64url and ignores spare bits. Only the exact issued text is accepted.
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
