import type { TSchema } from 'typebox';
import { ImproperlyConfigured } from '../errors.ts';
import type { Place } from './error-details.ts';
import { type AnySchema, type JsonSchema, namedTypes, namedValues, referredSchema } from './json-schema.ts';
import { type KeywordContext, Stage } from './keyword.ts';
import { KEYWORDS } from './keywords.ts';
import { type Assertion, type Judge, SchemaNode } from './reading.ts';

const INTEGER = /^(?:0|-?[1-9]\d*)$/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

/**
 * Compiles a schema, to every depth: a change to the schema, by a hook of the application or by its maker, changes no
 * validator.
 *
 * @throws ImproperlyConfigured for a keyword, a format, a reference or a value of a keyword that is not known, and for
 * what JSON cannot carry
 */
export function compileSchema(schema: TSchema, place: Place): SchemaNode {
  try {
    const root = schema as JsonSchema;
    return new SchemaCompiler(root, place).node(root, true);
  } catch (error) {
    throw new ImproperlyConfigured(`The ${place} schema cannot be compiled: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** The names of keywords that say nothing of values: an application's own, and those that TypeBox keeps out of sight. */
const SILENT = /^x-|^(?:~kind|~optional|~readonly|~immutable|~unsafe)$/;

/** The compiling of one schema with all that it contains. */
class SchemaCompiler {
  readonly #place: Place;
  readonly #root: JsonSchema;
  readonly #referred = new Map<string, SchemaNode>();

  constructor(root: JsonSchema, place: Place) {
    this.#place = place;
    this.#root = root;
  }

  /** Compiles a schema. Inside unions, conditions and references absent properties do not get their defaults. */
  readonly node = (schema: AnySchema, fillsIn = false, node = new SchemaNode()): SchemaNode => {
    const plain = typeof schema === 'object' ? schema : schema ? {} : { not: {} };
    if (this.#place !== 'body') node.readText = textReader(plain);
    const context: KeywordContext = {
      schema: plain,
      place: this.#place,
      fillsIn,
      node: this.node,
      referred: this.referred,
    };
    const stages = Object.values(Stage).map(() => ({ assertions: [] as Assertion[], judges: [] as Judge[] }));
    // TypeBox keeps refinements out of sight, so that Object.keys() does not name them.
    for (const name of Object.getOwnPropertyNames(plain)) {
      const keyword = KEYWORDS.get(name);
      if (plain[name] === undefined || (keyword === undefined && SILENT.test(name))) continue;
      if (keyword === undefined) throw new ImproperlyConfigured(`unknown keyword: "${name}"`);
      const compiled = keyword.compile(name, plain[name], context);
      if (typeof compiled === 'function') stages[keyword.stage]!.judges.push(compiled);
      else if (compiled !== undefined) stages[keyword.stage]!.assertions.push(compiled);
    }
    node.stages = stages
      .filter(({ assertions, judges }) => assertions.length + judges.length > 0)
      .map(({ assertions, judges }) => ({ assertions: assertions.slice(), judges: judges.slice() }));
    return node;
  };

  /** Compiles what a `$ref` refers to once: a schema may contain itself. */
  readonly referred = (ref: string): SchemaNode => {
    const known = this.#referred.get(ref);
    if (known !== undefined) return known;
    const node = new SchemaNode();
    this.#referred.set(ref, node);
    return this.node(referredSchema(this.#root, ref), false, node);
  };
}

/**
 * Makes the function that turns a text of a query string or a path into what a schema asks for: `12` into an integer
 * (only its canonical form: neither `012` nor `1e1` nor ` 12`), `true` and `false` into a boolean, one value or several
 * into an array. A text that does not fit, and null, stay as they are, for validation to refuse.
 */
function textReader(schema: JsonSchema): (value: unknown) => unknown {
  const types = new Set(namedTypes(schema));
  const choices = namedValues(schema)?.filter((choice) => typeof choice !== 'object');
  return (value) => {
    if (types.has('array')) return [value].flat();
    if (typeof value !== 'string') return value;
    if (choices !== undefined) return choices.find((choice) => String(choice) === value) ?? value;
    if (types.has('boolean') && BOOLEANS.has(value)) return BOOLEANS.get(value);
    if (types.has('integer') && INTEGER.test(value) && Number.isSafeInteger(Number(value))) return Number(value);
    if (types.has('number') && NUMBER.test(value) && Number.isFinite(Number(value))) return Number(value);
    return value;
  };
}
