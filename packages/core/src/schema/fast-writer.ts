import { type AnySchema, type JsonSchema, namedTypes, namedValues } from './json-schema.ts';
import { responseReader } from './response-reader.ts';

/** Writes a value as JSON. Undefined for a value that it does not know to be valid. */
export type WritePart = (value: unknown) => string | undefined;

/** What generated code takes from the compiled schemas of its parts. */
export interface CompiledParts {
  /** Makes the writer of a schema that generated code does not cover. */
  writer(this: void, schema: AnySchema): WritePart;
  /** Makes the check of a text or number by all keywords besides its type. */
  check(this: void, schema: JsonSchema): (value: unknown) => boolean;
}

/** The keywords that do not restrict values, and `type` with OpenAPI's `nullable`. */
const PLAIN =
  /^(?:\$comment|\$id|\$schema|title|description|examples?|deprecated|readOnly|writeOnly|default|externalDocs|xml|nullable|type|x-.*|~(?:kind|optional|readonly|immutable|unsafe))$/;
/** The keywords of texts and numbers that their compiled schema checks. */
const CHECKED = /^(?:format|pattern|minLength|maxLength|minimum|maximum|exclusiveMinimum|exclusiveMaximum|multipleOf)$/;
/** The other keywords that generated code covers, by type. */
const COVERED: Readonly<Record<string, RegExp>> = {
  object: /^(?:properties|required|additionalProperties)$/,
  array: /^(?:items|maxItems)$/,
  string: CHECKED,
  integer: CHECKED,
  number: CHECKED,
};

/**
 * Generates a function that validates values by a schema and writes them as JSON. It covers objects, arrays, texts,
 * numbers, booleans, literals and null. The compiled schemas write all other parts, such as unions.
 */
export function generateWriter(schema: JsonSchema, compiled: CompiledParts): WritePart {
  return new WriterCode(compiled).compile(schema);
}

class WriterCode {
  readonly #compiled: CompiledParts;
  readonly #functions: string[] = [];
  readonly #names = new Map<AnySchema, string>();
  readonly #parts: WritePart[] = [];
  readonly #checks: ((value: unknown) => boolean)[] = [];
  readonly #readers: ((value: unknown) => unknown)[] = [];
  readonly #literals: ReadonlyMap<unknown, string>[] = [];

  constructor(compiled: CompiledParts) {
    this.#compiled = compiled;
  }

  compile(schema: JsonSchema): WritePart {
    const write = this.#functionOf(schema);
    const code = `'use strict'; ${this.#functions.join('\n')} return ${write};`;
    // The text contains only indexes, and names of properties as JSON strings. Nothing in it comes from a request.
    // oxlint-disable-next-line typescript/no-implied-eval
    const make = new Function('part', 'check', 'read', 'literal', 'quoted', code) as (...given: unknown[]) => WritePart;
    return make(this.#parts, this.#checks, this.#readers, this.#literals, quoted);
  }

  /** Returns the name of the function that writes a schema. Generates it once. */
  #functionOf(schema: AnySchema): string {
    const known = this.#names.get(schema);
    if (known !== undefined) return known;
    const name = `w${this.#names.size}`;
    this.#names.set(schema, name);
    this.#functions.push(`function ${name}(v) { let json = ''; ${this.#value(schema, 'v')} return json; }`);
    return name;
  }

  /** Generates the statements that add a part to `json`, or return undefined. */
  #part(schema: AnySchema, value: string): string {
    const isNested =
      typeof schema === 'object' && namedTypes(schema).some((type) => type === 'object' || type === 'array');
    return isNested ? added(`${this.#functionOf(schema)}(${value})`) : this.#value(schema, value);
  }

  #value(schema: AnySchema, value: string): string {
    const code = typeof schema === 'object' ? this.#covered(schema, value) : undefined;
    return code ?? added(`part[${this.#parts.push(this.#compiled.writer(schema)) - 1}](${value})`);
  }

  /** Generates the code for a schema. Undefined if it has keywords that generated code does not cover. */
  #covered(schema: JsonSchema, value: string): string | undefined {
    const member = nullableMember(schema);
    if (member !== undefined) return `if (${value} === null) json += 'null'; else { ${this.#part(member, value)} }`;
    const literals = namedValues(schema);
    if (literals !== undefined) return this.#literal(schema, literals, value);
    const types = namedTypes(schema);
    const [type, ...others] = types.filter((each) => each !== 'null');
    if (type === undefined || others.length > 0) return undefined;
    // TypeBox makes refinements non-enumerable, so Object.keys() omits them.
    const keywords = Object.getOwnPropertyNames(schema).filter(
      (name) => schema[name] !== undefined && !PLAIN.test(name),
    );
    if (!keywords.every((name) => COVERED[type]?.test(name))) return undefined;
    const code = this.#typed(type, schema, value, keywords.length > 0);
    return code !== undefined && types.includes('null')
      ? `if (${value} === null) json += 'null'; else { ${code} }`
      : code;
  }

  #typed(type: string, schema: JsonSchema, value: string, isRestricted: boolean): string | undefined {
    if (type === 'object') return this.#object(schema, value);
    if (type === 'array') return this.#array(schema, value);
    if (type === 'boolean') {
      return `if (${value} === true) json += 'true'; else if (${value} === false) json += 'false'; else return;`;
    }
    const check = isRestricted ? `if (!check[${this.#checks.push(this.#compiled.check(schema)) - 1}](s)) return;` : '';
    if (type !== 'string') {
      const isOfType = type === 'integer' ? 'Number.isInteger' : 'Number.isFinite';
      return `{ const s = ${value}; if (!${isOfType}(s)) return; ${check} json += s; }`;
    }
    const read = `read[${this.#readers.push(responseReader(schema)) - 1}]`;
    const text = `let s = ${value}; if (typeof s !== 'string') { s = ${read}(s); if (typeof s !== 'string') return; }`;
    return `{ ${text} ${check} json += quoted(s); }`;
  }

  /** Writes texts that were made at compilation. The compiled schema checks them, so all keywords are covered. */
  #literal(schema: JsonSchema, literals: readonly unknown[], value: string): string {
    const write = this.#compiled.writer(schema);
    const texts = literals.map(
      (literal) => [literal, typeof literal === 'object' && literal !== null ? undefined : write(literal)] as const,
    );
    const valid = texts.filter((entry): entry is readonly [unknown, string] => entry[1] !== undefined);
    return added(`literal[${this.#literals.push(new Map(valid)) - 1}].get(${value})`);
  }

  #object({ properties, required = [], additionalProperties = false }: JsonSchema, value: string): string | undefined {
    if (properties === undefined || additionalProperties !== false) return undefined;
    if (!required.every((name) => Object.hasOwn(properties, name))) return undefined;
    const parts = Object.entries(properties).map(([name, schema]) => {
      // For a missing value with a default, the function returns undefined, as for a missing value that is required.
      const isAlways = required.includes(name) || (typeof schema === 'object' && schema['default'] !== undefined);
      const key = `${JSON.stringify(name)}:`;
      const code = `const p = o[${JSON.stringify(name)}];`;
      const write = `json += c + ${JSON.stringify(key)}; c = ','; ${this.#part(schema, 'p')}`;
      return isAlways
        ? `{ ${code} ${write} }`
        : `{ ${code} if (p !== undefined && typeof p !== 'function') { ${write} } }`;
    });
    const object = `let o = ${value}; if (typeof o !== 'object' || o === null) return;
      if (typeof o.toJSON === 'function') { o = o.toJSON(); if (typeof o !== 'object' || o === null) return; }
      if (Array.isArray(o)) return;`;
    return `{ ${object} let c = '{'; ${parts.join('\n')} json += c === '{' ? '{}' : '}'; }`;
  }

  #array({ items, maxItems }: JsonSchema, value: string): string | undefined {
    if (items === undefined || Array.isArray(items)) return undefined;
    const limit = maxItems === undefined ? '' : ` || ${value}.length > ${Number(maxItems)}`;
    return `if (!Array.isArray(${value})${limit}) return; json += '[';
      for (let i = 0; i < ${value}.length; i++) { if (i > 0) json += ','; const e = ${value}[i]; ${this.#part(items as AnySchema, 'e')} }
      json += ']';`;
  }
}

/**
 * Returns the other member of a union with null. Undefined for any other schema, and for a member that validates
 * otherwise in a union: a closed object, an object with defaults.
 */
function nullableMember(schema: JsonSchema): JsonSchema | undefined {
  const { anyOf, ...others } = schema;
  if (anyOf?.length !== 2 || !Object.getOwnPropertyNames(others).every((name) => PLAIN.test(name) && name !== 'type')) {
    return undefined;
  }
  const [member, ...rest] = anyOf.filter((each) => !isNull(each));
  const isOther =
    typeof member !== 'object' ||
    /"(?:default|additionalProperties|unevaluatedProperties|\$ref)":/.test(JSON.stringify(member));
  return isOther || rest.length > 0 ? undefined : member;
}

function isNull(member: AnySchema): boolean {
  return (
    typeof member === 'object' && member['type'] === 'null' && Object.keys(member).every((name) => PLAIN.test(name))
  );
}

/** Generates the statements that add the result of an expression to `json`. */
function added(expression: string): string {
  return `{ const t = ${expression}; if (t === undefined) return; json += t; }`;
}

/** The length from which a regular expression finds characters to escape faster than a loop. */
const LONG_TEXT = 42;
/** Characters that JSON escapes, and halves of surrogate pairs. */
// oxlint-disable-next-line no-control-regex
const ESCAPED = /[\u0000-\u001F"\\\uD800-\uDFFF]/;

/** Writes a text like `JSON.stringify`, which is slow for short texts. */
function quoted(text: string): string {
  if (text.length >= LONG_TEXT) return ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code === 0x22 || code === 0x5c || (code >= 0xd800 && code <= 0xdfff)) {
      return JSON.stringify(text);
    }
  }
  return `"${text}"`;
}
