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
   * The comparisons that the parameter makes with its value, of which one must hold: `{ field: 'author.name', lookup: 'icontains' }`. For
   * programs such as generated tests. Default: not known.
   */
  readonly compares?: readonly { readonly field: string; readonly lookup: string }[];
  /** The fields that the parameter can order by, by their names in its value. Default: not known. */
  readonly orders?: Readonly<Record<string, string>>;
  /** The part of a page that a value chooses. Default: none. */
  readonly pages?: 'number' | 'offset' | 'cursor' | 'size';
  /** The most records on a page, whatever size the value asks for. */
  readonly maxPageSize?: number;
}

/**
 * The query string of a request, or the body of a QUERY request, which replaces it. An empty value counts as absent. A NUL character or
 * malformed Unicode is refused, because databases cannot store them.
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

  /** Returns the parameters with only one of the names. */
  only(name: string): QueryParameters {
    const json = this.#json.has(name) ? new Map([[name, this.#json.get(name)]]) : NO_JSON;
    return new QueryParameters({ [name]: this.#value(name) }, json, this.path);
  }

  /** Tells if a name was sent with a value that is not empty. */
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

  /** Returns the value of a name; undefined if it is absent or empty. Throws InvalidUsage if it came several times. */
  one(name: string): string | undefined {
    const value = this.#value(name);
    if (value === undefined || value === '') return undefined;
    if (Array.isArray(value)) throw invalidParameter(name, 'must be given only once');
    return checkText(name, value);
  }

  /**
   * Returns the JSON value of a name. In a query string it is parsed from text, in the body of a QUERY request it is taken as it is.
   * Undefined if the name is absent or empty. Throws InvalidUsage for malformed JSON, and for an object that has a name twice.
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
