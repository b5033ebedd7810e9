import type { TSchema } from 'typebox';
import { type ErrorDetail, InvalidUsage } from '../errors/errors.ts';
import { pointerStep, textProblem } from '../support/json.ts';
import { nearest } from '../errors/nearest.ts';
import { parseStrictJson, StrictJsonError } from '../support/strict-json.ts';

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
  readonly #split: ListSplitter;

  /**
   * @param values the result of Fastify's parser: a string for each name, or an array of them if the name was repeated
   * @param json the values of names that came as JSON, not as text
   * @param path the path parameters from Fastify
   * @param split splits the texts of a list. Default: at every comma
   */
  constructor(
    values: unknown,
    json: ReadonlyMap<string, unknown> = NO_JSON,
    path: unknown = {},
    split: ListSplitter = (_name, texts) => texts.map(atCommas),
  ) {
    this.path = path as Readonly<Record<string, string>>;
    this.#values = (values ?? {}) as Readonly<Record<string, unknown>>;
    this.#json = json;
    this.#split = split;
  }

  names(): string[] {
    const names = Object.keys(this.#values);
    return this.#json.size === 0 ? names : [...names, ...this.#json.keys()];
  }

  /** Returns the parameters with only one of the names. */
  only(name: string): QueryParameters {
    const json = this.#json.has(name) ? new Map([[name, this.#json.get(name)]]) : NO_JSON;
    return new QueryParameters({ [name]: this.#value(name) }, json, this.path, this.#split);
  }

  /** Reports whether a name was sent with a non-empty value. */
  has(name: string): boolean {
    if (this.#json.has(name)) return true;
    const value = this.#value(name);
    return value !== undefined && value !== '';
  }

  /** Returns all non-empty values of a name, in the order sent. */
  all(name: string): readonly string[] {
    return this.#texts(name).map((text) => checkText(name, text));
  }

  /** Returns the value of a name; undefined if it is absent or empty. Throws InvalidUsage if it is repeated. */
  one(name: string): string | undefined {
    const value = this.#value(name);
    if (value === undefined || value === '') return undefined;
    if (Array.isArray(value)) throw invalidParameter(name, 'must be given only once');
    return checkText(name, value);
  }

  /**
   * Returns the values of a list, which are separated by commas; undefined if it is absent or empty. The text is split at
   * the commas of the URL, and each part is decoded after that. So an encoded comma, `%2C`, belongs to a value.
   *
   * Throws InvalidUsage if the list is repeated, unless `repeats`: then all values are returned, in the order sent.
   *
   * @example
   * // GET /people?cities=Bern,Washington%2CD.C.&sort=-age%2Cname
   * parameters.list('cities');                           // ['Bern', 'Washington,D.C.']
   * parameters.list('sort', { hasCommas: false });       // ['-age', 'name']
   */
  list(
    name: string,
    { hasCommas = true, repeats = false, isOfKeys = false }: ListReading = {},
  ): readonly string[] | undefined {
    const sent = this.#texts(name).map((text) => (isOfKeys ? plainText : checkText)(name, text));
    const texts = repeats ? sent : [this.one(name) ?? []].flat();
    if (texts.length === 0) return undefined;
    if (!hasCommas || !texts.some((text) => text.includes(','))) return texts.flatMap(atCommas);
    return this.#split(name, texts).flat();
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

  /** All non-empty values of a name, unchecked. */
  #texts(name: string): readonly unknown[] {
    return [this.#value(name) ?? []].flat().filter((text) => text !== '');
  }

  /** A parser may make a plain object, which inherits `constructor` and others. They were not sent. */
  #value(name: string): unknown {
    return Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
  }
}

/** How to read a list of a query string. */
export interface ListReading {
  /**
   * False if no value of the list can have a comma, as numbers and the names of fields. An encoded comma then separates
   * values too, because many clients encode all commas. Default: true.
   */
  readonly hasCommas?: boolean;
  /** True if the parameter may be repeated. Default: false. */
  readonly repeats?: boolean;
  /** True for keys of records: a text that no database can store is then a key that no record has. Default: false. */
  readonly isOfKeys?: boolean;
}

/** Splits the texts of a parameter, one for each time it was sent, into the values of lists. */
export type ListSplitter = (name: string, texts: readonly string[]) => readonly (readonly string[])[];

function atCommas(text: string): readonly string[] {
  return text.split(',');
}

/**
 * Makes the splitter for the query string of a URL. It splits before it decodes. Texts that are not in the URL, because
 * another parser or a hook made them, are split at every comma.
 */
export function splitterOf(url: string): ListSplitter {
  return (name, texts) => {
    if (!/%2c/i.test(url)) return texts.map(atCommas);
    const sent = url
      .slice(url.indexOf('?') + 1)
      .split('&')
      .map((pair) => /^([^=]*)=?(.*)$/s.exec(pair)!)
      .filter(([, key, value]) => value !== '' && decoded(key!) === name)
      .map(([, , value]) => value!);
    const isSame = sent.length === texts.length && sent.every((text, index) => decoded(text) === texts[index]);
    return isSame ? sent.map((text) => text.split(',').map(decoded)) : texts.map(atCommas);
  };
}

/** Decodes a part of a query string as Fastify's parser does, which keeps malformed encoding unchanged. */
function decoded(text: string): string {
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
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

function checkText(name: string, value: unknown): string {
  const text = plainText(name, value);
  const problem = textProblem(text);
  if (problem !== undefined) throw invalidParameter(name, problem);
  return text;
}

/** A parser of nested names (`a[b]=1`) makes objects and arrays instead of texts. */
function plainText(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw invalidParameter(name, 'must be a plain text');
}
