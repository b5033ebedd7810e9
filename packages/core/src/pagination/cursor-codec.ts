import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { ImproperlyConfigured } from '../errors.ts';
import type { OrderValue } from '../language/projection.ts';

/** A place in a list, and the way to read from it. */
export interface Cursor {
  /** True: towards the start of the list. */
  readonly backwards: boolean;
  /** The order's values of the record to read from, itself excluded; null: from the list's start (backwards: its end). */
  readonly position: readonly OrderValue[] | null;
}

const MIN_SECRET_BYTES = 32;
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** Cursors are padded to multiples of this, so that their length does not tell how long a hidden text is. */
const BLOCK_BYTES = 64;

/**
 * Encrypts the places that cursors hold, since an order may go by what no read shape shows: base64url of an IV, the tag
 * and the ciphertext of AES-256-GCM. The tag covers the basis too, a text that says what list and order the place belongs
 * to, so that no cursor is taken for another list's. Random IVs of 96 bits serve for 2^32 cursors of one secret (NIST SP
 * 800-38D, section 8.3).
 */
export class CursorCodec {
  readonly #key: Uint8Array;

  /**
   * @param secret at least 32 bytes; the key is derived from it, so that it may serve other purposes too
   * @throws ImproperlyConfigured when it is absent or too short
   */
  constructor(owner: string, secret: string | Uint8Array = '') {
    const bytes = Buffer.byteLength(secret);
    if (bytes < MIN_SECRET_BYTES) {
      const came = bytes === 0 ? 'none came' : `one of ${bytes} bytes came`;
      throw new ImproperlyConfigured(
        `${owner}: cursors are encrypted with a secret of at least ${MIN_SECRET_BYTES} bytes, but ${came}; ` +
          'give it to the plugin: app.register(viewset, { orm, secret })',
      );
    }
    this.#key = new Uint8Array(hkdfSync('sha256', secret, '', 'viewset cursor, AES-256-GCM', KEY_BYTES));
  }

  seal(basis: string, { backwards, position }: Cursor): string {
    const place = Buffer.from(JSON.stringify([backwards ? 1 : 0, position], finiteOrNamed));
    // White space after JSON means nothing.
    const padding = Buffer.alloc(BLOCK_BYTES - (place.length % BLOCK_BYTES), ' ');
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, iv, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(basis));
    const parts = [cipher.update(place), cipher.update(padding), cipher.final()];
    return Buffer.concat([iv, cipher.getAuthTag(), ...parts]).toString('base64url');
  }

  /** Opens a cursor that `seal` made for the same basis; undefined for any other text. */
  open(basis: string, text: string): Cursor | undefined {
    const bytes = Buffer.from(text, 'base64url');
    // Decoding skips what is not base64url and leaves bits over: only the very text that was given out is taken.
    if (bytes.length < IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== text) return undefined;
    const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(basis))
      .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    const place = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES));
    try {
      decipher.final();
    } catch {
      return undefined;
    }
    const [backwards, position] = JSON.parse(place.toString()) as [0 | 1, readonly (OrderValue | [string])[] | null];
    const values = position?.map((value) => (Array.isArray(value) ? Number(value[0]) : value));
    return { backwards: backwards === 1, position: values ?? null };
  }
}

/** JSON has no Infinity and no NaN, which databases order like other numbers; they stand as lists of their name. */
function finiteOrNamed(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isFinite(value) ? [String(value)] : value;
}
