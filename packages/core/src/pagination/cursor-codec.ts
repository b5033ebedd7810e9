import type { OrderValue } from '../query/language/projection.ts';
import { TextSeal } from '../support/sealed-text.ts';

/** A position in a list, and the direction to read in. */
export interface Cursor {
  /** True: towards the start of the list. */
  readonly backwards: boolean;
  /**
   * The values of the order, of the record to read from, which is excluded. null: from the list's start (backwards:
   * from its end).
   */
  readonly position: readonly OrderValue[] | null;
}

/** Cursors are padded to multiples of this, so that their length does not reveal the length of a hidden text. */
const BLOCK_BYTES = 64;

/**
 * Encrypts the positions in cursors, because an order may use fields that no read shape shows. The basis names the list
 * and the order of a position, so that a cursor is not valid for another list.
 */
export class CursorCodec {
  readonly #seal: TextSeal;

  /**
   * @param secret at least 32 bytes; the key is derived from it, so you may also use the secret for other purposes
   * @throws ImproperlyConfigured if it is missing or too short
   */
  constructor(owner: string, secret?: string | Uint8Array) {
    this.#seal = new TextSeal({ owner, texts: 'cursors', label: 'viewset cursor, AES-256-GCM' }, secret);
  }

  seal(basis: string, { backwards, position }: Cursor): string {
    const place = JSON.stringify([backwards ? 1 : 0, position], finiteOrNamed);
    // White space after JSON is ignored.
    return this.#seal.seal(basis, place + ' '.repeat(BLOCK_BYTES - (Buffer.byteLength(place) % BLOCK_BYTES)));
  }

  /** Opens a cursor that `seal` made for the same basis. Returns undefined for any other text. */
  open(basis: string, text: string): Cursor | undefined {
    const place = this.#seal.open(basis, text);
    if (place === undefined) return undefined;
    const [backwards, position] = JSON.parse(place) as [0 | 1, readonly (OrderValue | [string])[] | null];
    const values = position?.map((value) => (Array.isArray(value) ? Number(value[0]) : value));
    return { backwards: backwards === 1, position: values ?? null };
  }
}

/**
 * JSON has no Infinity and no NaN, which databases order like other numbers. Each is written as a list with its name.
 */
function finiteOrNamed(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isFinite(value) ? [String(value)] : value;
}
