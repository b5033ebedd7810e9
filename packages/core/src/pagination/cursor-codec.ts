import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { ImproperlyConfigured } from '../errors.ts';

/** A value of an order's key, exactly as `orderValues` reads it. */
export type PositionValue = string | number | boolean | null;

/** A place in a list, and the way to read from it. */
export interface Cursor {
  /** True: towards the start of the list. */
  readonly backwards: boolean;
  /** The order's values of the record to read from, itself excluded; null: from the list's start (backwards: its end). */
  readonly position: readonly PositionValue[] | null;
}

/**
 * Makes cursors opaque and tamper-evident: base64url of an HMAC-SHA256 and the place. The signature covers the basis, a
 * text that says what list and order the place belongs to, so that no cursor is taken for another list's.
 */
export class CursorCodec {
  readonly #key: Uint8Array;

  /**
   * @param secret at least 32 bytes; the signing key is derived from it, so that it may serve other purposes too
   * @throws ImproperlyConfigured when it is absent or too short
   */
  constructor(owner: string, secret: string | Uint8Array | undefined) {
    const bytes = typeof secret === 'string' ? Buffer.byteLength(secret) : (secret?.byteLength ?? 0);
    if (secret === undefined || bytes < MIN_SECRET_BYTES) {
      const came = secret === undefined ? 'none came' : `one of ${bytes} bytes came`;
      throw new ImproperlyConfigured(
        `${owner}: cursors are signed with a secret of at least ${MIN_SECRET_BYTES} bytes, but ${came}; ` +
          'give it to the plugin: app.register(viewset, { orm, secret })',
      );
    }
    this.#key = new Uint8Array(hkdfSync('sha256', secret, '', 'viewset cursor', MAC_BYTES));
  }

  seal(basis: string, { backwards, position }: Cursor): string {
    const payload = Buffer.from(JSON.stringify([backwards ? 1 : 0, position?.map(toJson) ?? null]));
    return Buffer.concat([this.#mac(basis, payload), payload]).toString('base64url');
  }

  /** The cursor that `seal` made for the same basis, or undefined for any other text. */
  open(basis: string, text: string): Cursor | undefined {
    const bytes = Buffer.from(text, 'base64url');
    // Decoding skips what is not base64url and leaves bits over: only the very text that was given out is taken.
    if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== text) return undefined;
    const payload = bytes.subarray(MAC_BYTES);
    if (!timingSafeEqual(bytes.subarray(0, MAC_BYTES), this.#mac(basis, payload))) return undefined;
    const [backwards, position] = JSON.parse(payload.toString()) as [0 | 1, readonly JsonValue[] | null];
    return { backwards: backwards === 1, position: position?.map(fromJson) ?? null };
  }

  #mac(basis: string, payload: Uint8Array): Buffer {
    // The basis is JSON and has no NUL, so no other pair of basis and payload gives the same bytes.
    return createHmac('sha256', this.#key).update(basis).update('\0').update(payload).digest();
  }
}

/** JSON has no Infinity and no NaN, which databases order like other numbers; they stand as lists of their name. */
type JsonValue = PositionValue | readonly [name: string];

function toJson(value: PositionValue): JsonValue {
  return typeof value === 'number' && !Number.isFinite(value) ? [String(value)] : value;
}

function fromJson(value: JsonValue): PositionValue {
  return typeof value === 'object' && value !== null ? Number(value[0]) : value;
}

const MIN_SECRET_BYTES = 32;
const MAC_BYTES = 32;
