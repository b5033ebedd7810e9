import type { OrderValue } from '../language/projection.ts';
import { TextSeal } from '../sealed-text.ts';

/** A place in a list, and the way to read from it. */
export interface Cursor {
  /** True: towards the start of the list. */
  readonly backwards: boolean;
  /** The order's values of the record to read from, itself excluded; null: from the list's start (backwards: its end). */
  readonly position: readonly OrderValue[] | null;
}

/** Cursors are padded to multiples of this, so that their length does not tell how long a hidden text is. */
const BLOCK_BYTES = 64;

/**
 * Encrypts the places that cursors hold, since an order may go by what no read shape shows. The basis says what list and order the place
 * belongs to, so that no cursor is taken for another list's.
 */
export class CursorCodec {
  readonly #seal: TextSeal;

  /**
   * @param secret at least 32 bytes; the key is derived from it, so that it may serve other purposes too
   * @throws ImproperlyConfigured when it is absent or too short
   */
  constructor(owner: string, secret?: string | Uint8Array) {
    this.#seal = new TextSeal({ owner, texts: 'cursors', label: 'viewset cursor, AES-256-GCM' }, secret);
  }

  seal(basis: string, { backwards, position }: Cursor): string {
    const place = JSON.stringify([backwards ? 1 : 0, position], finiteOrNamed);
    // White space after JSON means nothing.
    return this.#seal.seal(basis, place + ' '.repeat(BLOCK_BYTES - (Buffer.byteLength(place) % BLOCK_BYTES)));
  }

  /** Opens a cursor that `seal` made for the same basis; undefined for any other text. */
  open(basis: string, text: string): Cursor | undefined {
    const place = this.#seal.open(basis, text);
    if (place === undefined) return undefined;
    const [backwards, position] = JSON.parse(place) as [0 | 1, readonly (OrderValue | [string])[] | null];
    const values = position?.map((value) => (Array.isArray(value) ? Number(value[0]) : value));
    return { backwards: backwards === 1, position: values ?? null };
  }
}

/** JSON has no Infinity and no NaN, which databases order like other numbers; they stand as lists of their name. */
function finiteOrNamed(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isFinite(value) ? [String(value)] : value;
}
