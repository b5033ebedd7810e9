import { isRounded, roundedInteger } from './exact-number.ts';

/**
 * Match texts with numbers that may be rounded, and hardly any others. JavaScript keeps every number of fewer than
 * sixteen digits. A whole number has a point among its digits only before an exponent.
 */
const SIXTEEN_DIGITS = /(?:\d\.?){16}/;
const POINT_AND_EXPONENT = /\.\d+e/i;

/** The texts of the fractions that JavaScript has rounded, by the object or array that contains them, and by name. */
const fractions = new WeakMap<object, Map<string, string>>();

/** Returns the texts of the numbers in an object or array that JavaScript has rounded, by name. Undefined for none. */
export function roundedIn(container: object): ReadonlyMap<string, string> | undefined {
  return fractions.get(container);
}

/** Remembers the text of a number in an object or array, if JavaScript has rounded it. */
export function rememberRounded(container: object, name: string, text: string, value: number): void {
  if (!isRounded(text, value)) return;
  const known = fractions.get(container);
  if (known === undefined) fractions.set(container, new Map([[name, text]]));
  else known.set(name, text);
}

/** Remembers for a copy what is known about the original. */
export function copyRounded(original: object, copy: object): void {
  const known = fractions.get(original);
  if (known !== undefined) fractions.set(copy, known);
}

/**
 * Replaces each whole number that JavaScript would silently round by a bigint, which JSON does not have. For example,
 * `9007199254740993` would be stored as another number, such as the key of another record. The scan of a document then
 * reports its path. A number that JavaScript writes in the same digits is not replaced, so that clients may send back
 * values that they have read. The texts of other rounded numbers are remembered (`roundedIn`): only a decimal column
 * cannot have them.
 *
 * @param text the JSON of the document
 * @param document the parsed document, which is returned if no number in it is rounded
 * @example
 * markRounded('{"id":9007199254740993}', { id: 9007199254740992 });   // { id: 9007199254740993n }
 */
export function markRounded(text: string, document: unknown): unknown {
  if (!SIXTEEN_DIGITS.test(text) && !POINT_AND_EXPONENT.test(text)) return document;
  let isChanged = false;
  const mark: Reviver = function (name, value, { source }) {
    if (typeof value !== 'number' || source === undefined || !Number.isFinite(value)) return value;
    if (Number.isSafeInteger(value) && !IS_FRACTION.test(source)) return value;
    const rounded = roundedInteger(source, value);
    if (rounded === undefined) rememberRounded(this, name, source, value);
    isChanged ||= rounded !== undefined || fractions.has(this);
    return rounded ?? value;
  };
  const marked: unknown = JSON.parse(text, mark as (name: string, value: unknown) => unknown);
  return isChanged ? marked : document;
}

const IS_FRACTION = /[.e]/i;

/** A reviver for `JSON.parse`, which passes it the text of each primitive value (V8 11.4). */
type Reviver = (this: object, name: string, value: unknown, context: { readonly source?: string }) => unknown;
