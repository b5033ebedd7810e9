import type { TSchema } from 'typebox';
import { type ErrorDetail, InvalidUsage } from './errors.ts';
import { pointerStep, textProblem } from './json.ts';
import { nearest } from './nearest.ts';
import { parseStrictJson, StrictJsonError } from './strict-json.ts';

/** A query parameter of a filter or a paginator: its name, and a schema of its text for documents. */
export interface ParameterDeclaration {
  readonly name: string;
  readonly schema: TSchema;
  /**
   * The comparisons of the parameter. At least one must match: `{ field: 'author.name', lookup: 'icontains' }`. For
   * programs such as generated tests. Default: not known.
   */
  readonly compares?: readonly { readonly field: string; readonly lookup: string }[];
  /** The fields that the parameter can order by, by their names in its value. Default: not known. */
  readonly orders?: Readonly<Record<string, string>>;
  /** The aspect of a page that the parameter sets. Default: none. */
  readonly pages?: 'number' | 'offset' | 'cursor' | 'size';
  /** The most records on a page. Larger requested sizes become this size. */
  readonly maxPageSize?: number;
}

/**
 * The query string of a request, or the body of a QUERY request, which replaces it. An empty value counts as absent. A
 * NUL character or malformed Unicode is rejected, because databases cannot store them.
 *
 * @example
 * // GET /products?name=a&name=b&page=2&search=
 * parameters.one('page');     // '2'
 * parameters.all('name');     // ['a', 'b']
 * parameters.one('search');   // undefined
 * parameters.one('name');     // throws InvalidUsage: given more than once
 */
export class QueryParameters {
  /** The parameters of the path: the keys of parents, and of a record. */
  readonly path: Readonly<Record<string, string>>;
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #json: ReadonlyMap<string, unknown>;

  /**
   * @param values the result of Fastify's parser: a string for each name, or an array of them if the name was repeated
   * @param json the values of names that came as JSON, not as text
   * @param path the path parameters from Fastify
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

  /** Returns the parameters with only one of the names. */
  only(name: string): QueryParameters {
    const json = this.#json.has(name) ? new Map([[name, this.#json.get(name)]]) : NO_JSON;
    return new QueryParameters({ [name]: this.#value(name) }, json, this.path);
  }

  /** Reports whether a name was sent with a non-empty value. */
  has(name: string): boolean {
    if (this.#json.has(name)) return true;
    const value = this.#value(name);
    return value !== undefined && value !== '';
  }

  /** Returns all non-empty values of a name, in the order sent. */
  all(name: string): readonly string[] {
    const value = this.#value(name);
    if (value === undefined || value === '') return [];
    const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
    return texts.filter((text) => text !== '').map((text) => checkText(name, text));
  }

  /** Returns the value of a name; undefined if it is absent or empty. Throws InvalidUsage if it is repeated. */
  one(name: string): string | undefined {
    const value = this.#value(name);
    if (value === undefined || value === '') return undefined;
    if (Array.isArray(value)) throw invalidParameter(name, 'must be given only once');
    return checkText(name, value);
  }

  /**
   * Returns the JSON value of a name. In a query string it is parsed from text, in the body of a QUERY request it is
   * used directly. Undefined if the name is absent or empty. Throws InvalidUsage for malformed JSON, and for an object
   * with a duplicate name.
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

  /** A parser may make a plain object, which inherits `constructor` and others. They were not sent. */
  #value(name: string): unknown {
    return Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
  }
}

const NO_JSON: ReadonlyMap<string, unknown> = new Map();

/** The most characters of a client's text that a message repeats. */
const MAX_ECHO = 64;

/** Shortens a client's text for a message, to limit the length of the message. */
export function echo(text: string): string {
  return text.length > MAX_ECHO ? `${text.slice(0, MAX_ECHO)}…` : text;
}

/** The words for a parameter of a URL, and for a member of a QUERY's body. */
const PARAMETER = { query: 'Query parameter', body: 'Body member' } as const;

/** The word for a parameter, depending on its place. */
export type ParameterWord = (typeof PARAMETER)[keyof typeof PARAMETER];

/** An InvalidUsage whose sentence depends on the place of the parameters: the query string, or the body of a QUERY. */
export class PlacedInvalidUsage extends InvalidUsage {
  override readonly name: string = InvalidUsage.name;
  readonly #sentence: (word: ParameterWord) => string;

  /** @param details the details for parameters in the query string */
  constructor(sentence: (word: ParameterWord) => string, details: readonly ErrorDetail[]) {
    super(sentence(PARAMETER.query), { details });
    this.#sentence = sentence;
  }

  /** Returns the sentence of any InvalidUsage, with the word for a place. */
  static sentenceOf(error: InvalidUsage, word: ParameterWord): string {
    return error instanceof PlacedInvalidUsage ? error.#sentence(word) : error.message;
  }

  /**
   * Converts an error about the query string to an error about the body of a QUERY. Returns any other error unchanged.
   */
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

/** Describes an unknown name in a parameter: names the nearest, and all known ones. */
export function unknownName(name: string, names: readonly string[]): string {
  const allowed = `allowed: ${names.join(', ')}`;
  if (name === '') return `must not have an empty name; ${allowed}`;
  const meant = nearest(name, names);
  const hint = meant === undefined ? '' : ` (did you mean "${meant}"?)`;
  return `does not know the name "${echo(name)}"${hint}; ${allowed}`;
}

/** A parser of nested names (`a[b]=1`) makes objects and arrays instead of texts. */
function checkText(name: string, text: unknown): string {
  if (typeof text !== 'string') throw invalidParameter(name, 'must be a plain text');
  const problem = textProblem(text);
  if (problem !== undefined) throw invalidParameter(name, problem);
  return text;
}
