import type { TSchema } from 'typebox';
import { InvalidUsage } from './errors.ts';
import { pointerStep } from './json-pointer.ts';

/** A query parameter that a filter or a paginator declares: its name, and a schema of its text for documentation. */
export interface ParameterDeclaration {
  readonly name: string;
  readonly schema: TSchema;
}

/**
 * The query string of a request. An empty value counts as absent; a NUL character and text that is not well-formed
 * Unicode are refused, since no database keeps them.
 *
 * @example
 * // GET /products?name=a&name=b&page=2&search=
 * parameters.one('page');     // '2'
 * parameters.all('name');     // ['a', 'b']
 * parameters.one('search');   // undefined
 * parameters.one('name');     // throws InvalidUsage: given more than once
 */
export class QueryParameters {
  readonly #values: Readonly<Record<string, unknown>>;

  /** @param values what Fastify parsed: a string for each name, or an array of them where the name came several times */
  constructor(values: unknown) {
    this.#values = (values ?? {}) as Readonly<Record<string, unknown>>;
  }

  names(): string[] {
    return Object.keys(this.#values);
  }

  /** Whether a name was sent with anything but the empty value. */
  has(name: string): boolean {
    const value = this.#values[name];
    return value !== undefined && value !== '';
  }

  /** Every non-empty value of a name, in the order sent. */
  all(name: string): readonly string[] {
    if (!this.has(name)) return [];
    const value = this.#values[name];
    const texts = (Array.isArray(value) ? value : [value]) as string[];
    return texts.filter((text) => text !== '').map((text) => checkText(name, text));
  }

  /** The value of a name, or undefined where it is absent or empty. Throws InvalidUsage where it came several times. */
  one(name: string): string | undefined {
    if (!this.has(name)) return undefined;
    const value = this.#values[name];
    if (Array.isArray(value)) throw invalidParameter(name, 'must be given only once');
    return checkText(name, value as string);
  }
}

/** The 400 for one query parameter: `Query parameter "page" must be …`, with the same in `details`. */
export function invalidParameter(name: string, problem: string): InvalidUsage {
  return new InvalidUsage(`Query parameter "${name}" ${problem}`, {
    details: [{ in: 'query', path: pointerStep(name), message: problem }],
  });
}

function checkText(name: string, text: string): string {
  if (text.includes('\0')) throw invalidParameter(name, 'must not contain a NUL character');
  if (!text.isWellFormed()) throw invalidParameter(name, 'must be well-formed Unicode');
  return text;
}
