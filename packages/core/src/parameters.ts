import type { TSchema } from 'typebox';
import { type ErrorDetail, InvalidUsage } from './errors.ts';
import { pointerStep, textProblem } from './json.ts';
import { nearest } from './nearest.ts';
import { parseStrictJson, StrictJsonError } from './strict-json.ts';

/** A query parameter that a filter or a paginator declares: its name, and a schema of its text for documentation. */
export interface ParameterDeclaration {
  readonly name: string;
  readonly schema: TSchema;
  /**
   * The comparisons that a value asks for, one of which must hold: `{ field: 'author.name', lookup: 'icontains' }`. Programs such as generated
   * tests read them. Default: none is known.
   */
  readonly compares?: readonly { readonly field: string; readonly lookup: string }[];
  /** The fields that a value orders by, by the names that it has for them. Default: none is known. */
  readonly orders?: Readonly<Record<string, string>>;
  /** The part of a page that a value chooses. Default: none. */
  readonly pages?: 'number' | 'offset' | 'cursor' | 'size';
  /** The most records that a page has, whatever size a value asks for. */
  readonly maxPageSize?: number;
}

/**
 * The query string of a request, or the body of a QUERY request, which stands in its place. An empty value counts as absent; a NUL character and text that is not well-formed
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
  /** The values of the path: the keys of parents, and of a record. */
  readonly path: Readonly<Record<string, string>>;
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #json: ReadonlyMap<string, unknown>;

  /**
   * @param values what Fastify parsed: a string for each name, or an array of them if the name came several times
   * @param json the values of names that came as JSON, not as text
   * @param path what Fastify parsed of the path
   */
  constructor(values: unknown, json: ReadonlyMap<string, unknown> = NO_JSON, path: unknown = {}) {
    this.path = path as Readonly<Record<string, string>>;
    this.#values = (values ?? {}) as Readonly<Record<string, unknown>>;
    this.#json = json;
  }

  names(): string[] {
    const names = Object.keys(this.#values);
    return this.#json.size === 0 ? names : [...names, ...this.#json.keys()];
  }

  /** The same parameters with one name alone. */
  only(name: string): QueryParameters {
    const json = this.#json.has(name) ? new Map([[name, this.#json.get(name)]]) : NO_JSON;
    return new QueryParameters({ [name]: this.#value(name) }, json, this.path);
  }

  /** Tells if a name was sent with anything but the empty value. */
  has(name: string): boolean {
    if (this.#json.has(name)) return true;
    const value = this.#value(name);
    return value !== undefined && value !== '';
  }

  /** Returns every non-empty value of a name, in the order sent. */
  all(name: string): readonly string[] {
    const value = this.#value(name);
    if (value === undefined || value === '') return [];
    const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
    return texts.filter((text) => text !== '').map((text) => checkText(name, text));
  }

  /** Returns the value of a name; undefined if it is absent or empty. Throws InvalidUsage if it came several times. */
  one(name: string): string | undefined {
    const value = this.#value(name);
    if (value === undefined || value === '') return undefined;
    if (Array.isArray(value)) throw invalidParameter(name, 'must be given only once');
    return checkText(name, value);
  }

  /**
   * Returns the JSON that a name has, as a text or, in the body of a QUERY request, as it is; undefined if the name is absent or
   * empty. Throws InvalidUsage for a text that is no JSON, and for one with the same name twice in an object.
   *
   * @example
   * // GET /places?near={"lat":1,"lon":2}   (URL-encoded)
   * parameters.json('near');   // { lat: 1, lon: 2 }
   */
  json(name: string): unknown {
    if (this.#json.has(name)) return this.#json.get(name);
    const text = this.one(name);
    try {
      return text === undefined ? undefined : parseStrictJson(text);
    } catch (error) {
      if (error instanceof StrictJsonError) throw invalidParameter(name, error.message);
      throw error;
    }
  }

  /** A parser may make a plain object, which inherits `constructor` and the like: none of these was sent. */
  #value(name: string): unknown {
    return Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
  }
}

const NO_JSON: ReadonlyMap<string, unknown> = new Map();

/** Characters of a client's text that a message repeats. */
const MAX_ECHO = 64;

/** Cuts a client's text for a message, which must not grow with what is sent. */
export function echo(text: string): string {
  return text.length > MAX_ECHO ? `${text.slice(0, MAX_ECHO)}…` : text;
}

/** The words for a parameter of a URL, and for what stands in its place in the body of a QUERY. */
const PARAMETER = { query: 'Query parameter', body: 'Body member' } as const;

/** The words for a parameter in the place where it stands. */
export type ParameterWord = (typeof PARAMETER)[keyof typeof PARAMETER];

/** An InvalidUsage whose sentence goes by the place of the parameters that it speaks of: the query string, or a body in its place. */
export class PlacedInvalidUsage extends InvalidUsage {
  override readonly name: string = InvalidUsage.name;
  readonly #sentence: (word: ParameterWord) => string;

  /** @param details those of parameters in the query string */
  constructor(sentence: (word: ParameterWord) => string, details: readonly ErrorDetail[]) {
    super(sentence(PARAMETER.query), { details });
    this.#sentence = sentence;
  }

  /** Returns the sentence of any InvalidUsage, in the words of a place. */
  static sentenceOf(error: InvalidUsage, word: ParameterWord): string {
    return error instanceof PlacedInvalidUsage ? error.#sentence(word) : error.message;
  }

  /** Makes the error of parameters in the query string tell of the body in their place; any other as it is. */
  static inBody(error: InvalidUsage): InvalidUsage {
    const { headers, event, details } = error;
    if (details?.some((detail) => detail.in === 'query') !== true) return error;
    return new InvalidUsage(PlacedInvalidUsage.sentenceOf(error, PARAMETER.body), {
      headers,
      ...(event === undefined ? {} : { event }),
      details: details.map((detail) => (detail.in === 'query' ? { ...detail, in: 'body' as const } : detail)),
      cause: error,
    });
  }
}

/** Makes the 400 for one query parameter: `Query parameter "page" must be …`, with the same in `details`. */
export function invalidParameter(name: string, problem: string): InvalidUsage {
  const details = [{ in: 'query', path: pointerStep(name), message: problem } as const];
  return new PlacedInvalidUsage((word) => `${word} "${name}" ${problem}`, details);
}

/** Makes the problem of a parameter that names something which is not there: names the nearest, and all that are. */
export function unknownName(name: string, names: readonly string[]): string {
  const allowed = `allowed: ${names.join(', ')}`;
  if (name === '') return `must not have an empty name; ${allowed}`;
  const meant = nearest(name, names);
  const hint = meant === undefined ? '' : ` (did you mean "${meant}"?)`;
  return `does not know the name "${echo(name)}"${hint}; ${allowed}`;
}

/** A parser that nests (`a[b]=1`) makes objects and arrays in places of texts. */
function checkText(name: string, text: unknown): string {
  if (typeof text !== 'string') throw invalidParameter(name, 'must be a plain text');
  const problem = textProblem(text);
  if (problem !== undefined) throw invalidParameter(name, problem);
  return text;
}
