import { copyRounded, markRounded, roundedIn } from '../support/rounded-numbers.ts';

/**
 * Reads and writes JSON without a change of its numbers, for plugins that pass parts of a body on to a route. JavaScript
 * would round `12345678901234.1234` between the two, so the route could not reject it. `readJsonOnly` reads the bodies
 * of routes with a body schema in this way.
 *
 * - `parse(text)` reads JSON. A whole number that JavaScript rounds becomes a bigint, which the checks of bodies reject.
 *   Throws SyntaxError for a text that is not JSON.
 * - `stringify(value)` writes JSON. A number of a parsed object or array has the digits that were sent.
 * - `textOf(container, name)` returns the digits of one number. Undefined if JavaScript has not rounded it.
 * - `copy(original, copy)` makes `stringify` write the members of a shallow copy like those of the original. Returns the
 *   copy.
 *
 * @example
 * const { body } = exactJson.parse('{"body":{"price":12345678901234.1234}}') as { body: object };
 * exactJson.stringify(body);   // {"price":12345678901234.1234}
 */
export const exactJson = Object.freeze({
  parse: (text: string): unknown => markRounded(text, JSON.parse(text)),

  stringify: (value: unknown): string =>
    JSON.stringify(value, function (this: object, name: string, member: unknown): unknown {
      const text = typeof member === 'number' ? roundedIn(this)?.get(name) : undefined;
      return text === undefined ? member : RAW.rawJSON(text);
    }),

  textOf: (container: object, name: string | number): string | undefined => roundedIn(container)?.get(String(name)),

  copy: <Copy extends object>(original: object, copy: Copy): Copy => {
    copyRounded(original, copy);
    return copy;
  },
});

/** Writes a text as it is (V8 11.4). TypeScript does not declare it. */
const RAW = JSON as unknown as { readonly rawJSON: (text: string) => unknown };
