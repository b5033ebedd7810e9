import { roundedInteger } from './exact-number.ts';

/**
 * Match texts with numbers that may be rounded, and hardly any others. JavaScript keeps every number of fewer than
 * sixteen digits. A whole number has a point among its digits only before an exponent.
 */
const SIXTEEN_DIGITS = /\d{16}/;
const POINT_AND_EXPONENT = /\.\d+e/i;

/**
 * Replaces each whole number that JavaScript would silently round by a bigint, which JSON does not have. For example,
 * `9007199254740993` would be stored as another number, such as the key of another record. The scan of a document then
 * reports its path. A number that JavaScript writes in the same digits is not replaced, so that clients may send back
 * values that they have read.
 *
 * @param text the JSON of the document
 * @param document the parsed document, which is returned if no number in it is rounded
 * @example
 * markRounded('{"id":9007199254740993}', { id: 9007199254740992 });   // { id: 9007199254740993n }
 */
export function markRounded(text: string, document: unknown): unknown {
  if (!SIXTEEN_DIGITS.test(text) && !POINT_AND_EXPONENT.test(text)) return document;
  let isRounded = false;
  const mark: Reviver = (_name, value, { source }) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value) || !Number.isFinite(value)) return value;
    const rounded = source === undefined ? undefined : roundedInteger(source, value);
    isRounded ||= rounded !== undefined;
    return rounded ?? value;
  };
  const marked: unknown = JSON.parse(text, mark as (name: string, value: unknown) => unknown);
  return isRounded ? marked : document;
}

/** A reviver for `JSON.parse`, which passes it the text of each primitive value (V8 11.4). */
type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown;
