import { roundedWhole } from './exact-number.ts';

/**
 * The numbers that may be rounded, and hardly any other text: of fewer than sixteen digits JavaScript keeps each one, and a whole number has a
 * point among them only before an exponent.
 */
const SIXTEEN_DIGITS = /\d{16}/;
const POINT_AND_EXPONENT = /\.\d+e/i;

/**
 * Puts a bigint, which no JSON is, in the place of each whole number that JavaScript would round in silence: `9007199254740993`
 * would be stored as another number, such as the key of another record. The scan of a document then names its place. A number that
 * JavaScript writes in the same digits is none of them, whatever its binary neighbours are: a client may send what it has read.
 *
 * @param text the JSON of the document
 * @param document the document as it was parsed, which is given back if nothing in it is rounded
 * @example
 * markRounded('{"id":9007199254740993}', { id: 9007199254740992 });   // { id: 9007199254740993n }
 */
export function markRounded(text: string, document: unknown): unknown {
  if (!SIXTEEN_DIGITS.test(text) && !POINT_AND_EXPONENT.test(text)) return document;
  let isRounded = false;
  const mark: Reviver = (_name, value, { source }) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value) || !Number.isFinite(value)) return value;
    const whole = source === undefined ? undefined : roundedWhole(source, value);
    isRounded ||= whole !== undefined;
    return whole ?? value;
  };
  const marked: unknown = JSON.parse(text, mark as (name: string, value: unknown) => unknown);
  return isRounded ? marked : document;
}

/** A reviver of `JSON.parse` that is given the text of each primitive value (V8 11.4). */
type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown;
