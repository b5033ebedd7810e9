import { isSameNumber } from './exact-number.ts';

/** Every whole number beyond 2^53, which has sixteen digits, and hardly any other text. */
const MAY_BE_ROUNDED = /\d{16}/;
const WHOLE_NUMBER = /^-?\d+$/;

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
  if (!MAY_BE_ROUNDED.test(text)) return document;
  let isRounded = false;
  const mark: Reviver = (_name, value, { source }) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value) || !Number.isFinite(value)) return value;
    if (source === undefined || !WHOLE_NUMBER.test(source) || isSameNumber(source, value)) return value;
    isRounded = true;
    return BigInt(source);
  };
  const marked: unknown = JSON.parse(text, mark as (name: string, value: unknown) => unknown);
  return isRounded ? marked : document;
}

/** A reviver of `JSON.parse` that is given the text of each primitive value (V8 11.4). */
type Reviver = (name: string, value: unknown, context: { readonly source?: string }) => unknown;
