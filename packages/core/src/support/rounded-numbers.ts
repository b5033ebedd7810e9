import { isRounded, roundedInteger } from './exact-number.ts';

/**
 * Match texts with numbers that may be rounded, and hardly any others. JavaScript keeps every number of fewer than
 * sixteen digits. A whole number has a point among its digits only before an exponent.
 */
const SIXTEEN_DIGITS = /(?:\d\.?){16}/;
const POINT_AND_EXPONENT = /\.\d+e/i;

/** The texts of the numbers that JavaScript has rounded, by the object or array that contains them, and by name. */
const texts = new WeakMap<object, Map<string, string>>();

/** Returns the texts of the numbers in an object or array that JavaScript has rounded, by name. Undefined for none. */
export function roundedIn(container: object): ReadonlyMap<string, string> | undefined {
  return texts.get(container);
}

/** Remembers the text of a number in an object or array, if JavaScript has rounded it. */
export function rememberRounded(container: object, name: string, text: string, value: number): void {
  if (!isRounded(text, value)) return;
  const known = texts.get(container);
  if (known === undefined) texts.set(container, new Map([[name, text]]));
  else known.set(name, text);
}

/** Remembers for a copy what is known about the original. */
export function copyRounded(original: object, copy: object): void {
  const known = texts.get(original);
  if (known !== undefined) texts.set(copy, known);
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
  return withNumbers(text, document, (container, name, source, value) => {
    const rounded = roundedInteger(source, value);
    if (rounded === undefined) rememberRounded(container, name, source, value);
    return rounded ?? value;
  });
}

/**
 * Remembers the texts of all numbers that JavaScript has rounded (`roundedIn`), whole numbers too. The document keeps its
 * numbers.
 *
 * @param text the JSON of the document
 * @param document the parsed document, which is returned if no number in it is rounded
 */
export function withSentDigits(text: string, document: unknown): unknown {
  return withNumbers(text, document, (container, name, source, value) => {
    rememberRounded(container, name, source, value);
    return value;
  });
}

/** Parses a document again if a number in it may be rounded, and calls a function for each of these numbers. */
function withNumbers(
  text: string,
  document: unknown,
  read: (container: object, name: string, source: string, value: number) => number | bigint,
): unknown {
  if (!SIXTEEN_DIGITS.test(text) && !POINT_AND_EXPONENT.test(text)) return document;
  let isChanged = false;
  const revive: Reviver = function (name, value, { source }) {
    if (typeof value !== 'number' || source === undefined || !Number.isFinite(value)) return value;
    if (Number.isSafeInteger(value) && !IS_FRACTION.test(source)) return value;
    const result = read(this, name, source, value);
    isChanged ||= result !== value || texts.has(this);
    return result;
  };
  const revived: unknown = JSON.parse(text, revive as (name: string, value: unknown) => unknown);
  return isChanged ? revived : document;
}

const IS_FRACTION = /[.e]/i;

/** A reviver for `JSON.parse`, which passes it the text of each primitive value (V8 11.4). */
type Reviver = (this: object, name: string, value: unknown, context: { readonly source?: string }) => unknown;
