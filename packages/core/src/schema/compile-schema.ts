import type { TSchema } from 'typebox';
import { ImproperlyConfigured } from '../errors.ts';
import type { Place } from './error-details.ts';
import { isRecord } from '../json.ts';
import { nearest } from '../nearest.ts';
import { type AnySchema, type JsonSchema, referredSchema } from './json-schema.ts';
import { type KeywordContext, Stage } from './keyword.ts';
import { KEYWORDS } from './keywords.ts';
import { type Assertion, type Judge, SchemaNode } from './reading.ts';
import { textReader } from './text-reader.ts';

/** The nodes of schemas that were compiled together, by their schemas. */
export type CompiledNodes = Map<AnySchema, SchemaNode>;

/**
 * Compiles a schema, to every depth: a change to the schema, by a hook of the application or by its maker, changes no
 * validator.
 *
 * @param nodes shared by schemas that are compiled at the same time, and have properties or items in common
 * @throws ImproperlyConfigured for a keyword, a format, a reference or a value of a keyword that is not known, and for
 * what JSON cannot carry
 */
export function compileSchema(schema: TSchema, place: Place, nodes: CompiledNodes = new Map()): SchemaNode {
  try {
    const root = schema as JsonSchema;
    return new SchemaCompiler(root, place, nodes).node(root, true);
  } catch (error) {
    throw new ImproperlyConfigured(`The ${place} schema cannot be compiled: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/**
 * Refuses a misspelt keyword in the schema of an answer. Whatever else is not known there is left to the compiler of serializers, which
 * knows the schemas that an application has added by `addSchema`.
 *
 * @throws ImproperlyConfigured that names the keyword that was meant
 */
export function checkSpelling(schema: TSchema): void {
  try {
    compileSchema(schema, 'body');
  } catch (error) {
    let cause = error as Error;
    while (cause.cause instanceof Error) cause = cause.cause;
    if (cause instanceof MisspeltKeyword) throw error;
  }
}

/** A keyword that nobody knows and that is nearly one that there is. */
class MisspeltKeyword extends ImproperlyConfigured {}

/** The names of keywords that say nothing of values: an application's own, and those that TypeBox keeps out of sight. */
const SILENT = /^x-|^(?:~kind|~optional|~readonly|~immutable|~unsafe)$/;

/** Tells a schema from an object of schemas by name, `{ id: Type.Integer() }`, which would let everything pass. */
export function isSchema(value: unknown): value is TSchema {
  return isRecord(value) && Object.keys(value).every((name) => isKeyword(name) || !isRecord(value[name]));
}

function isKeyword(name: string): boolean {
  return KEYWORDS.has(name) || SILENT.test(name);
}

const BOUNDS = [
  ['minimum', 'maximum'],
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
  ['minProperties', 'maxProperties'],
] as const;

/** @throws ImproperlyConfigured for bounds that leave no value */
function checkBounds(schema: JsonSchema): void {
  for (const [least, most] of BOUNDS) {
    const [from, to] = [schema[least], schema[most]];
    if (typeof from !== 'number' || typeof to !== 'number' || from <= to) continue;
    throw new ImproperlyConfigured(`${least} ${from} is above ${most} ${to}, so that no value fits`);
  }
}

function unknownKeyword(name: string): ImproperlyConfigured {
  const meant = nearest(name, KEYWORDS.keys());
  return meant === undefined
    ? new ImproperlyConfigured(`unknown keyword: "${name}"`)
    : new MisspeltKeyword(`unknown keyword: "${name}"; did you mean "${meant}"?`);
}

/** The compiling of one schema with all that it contains. */
class SchemaCompiler {
  readonly #place: Place;
  readonly #root: JsonSchema;
  readonly #nodes: CompiledNodes;
  readonly #referred = new Map<string, SchemaNode>();
  #references = 0;

  constructor(root: JsonSchema, place: Place, nodes: CompiledNodes) {
    this.#place = place;
    this.#root = root;
    this.#nodes = nodes;
  }

  /** Compiles a schema. Inside unions, conditions and references absent properties do not get their defaults. */
  readonly node = (schema: AnySchema, fillsIn = false, node = new SchemaNode()): SchemaNode => {
    const shared = fillsIn ? this.#nodes.get(schema) : undefined;
    if (shared !== undefined) return shared;
    const references = this.#references;
    const plain = typeof schema === 'object' ? schema : schema ? {} : { not: {} };
    if (this.#place !== 'body') node.readText = textReader(plain);
    const context: KeywordContext = {
      schema: plain,
      place: this.#place,
      fillsIn,
      node: this.node,
      referred: this.referred,
    };
    const stages = Object.values(Stage).map((): (Assertion | Judge)[] => []);
    // TypeBox keeps refinements out of sight, so that Object.keys() does not name them.
    for (const name of Object.getOwnPropertyNames(plain)) {
      const keyword = KEYWORDS.get(name);
      if (plain[name] === undefined || (keyword === undefined && SILENT.test(name))) continue;
      if (keyword === undefined) throw unknownKeyword(name);
      const compiled = keyword.compile(name, plain[name], context);
      if (compiled !== undefined) stages[keyword.stage]!.push(compiled);
    }
    checkBounds(plain);
    // A copy takes no more room than it has members.
    node.stages = stages.filter((stage) => stage.length > 0).map((stage) => stage.slice());
    // A reference inside the schema refers to its own root.
    if (fillsIn && references === this.#references) this.#nodes.set(schema, node);
    return node;
  };

  /** Compiles what a `$ref` refers to once: a schema may contain itself. */
  readonly referred = (ref: string): SchemaNode => {
    this.#references++;
    const known = this.#referred.get(ref);
    if (known !== undefined) return known;
    const node = new SchemaNode();
    this.#referred.set(ref, node);
    return this.node(referredSchema(this.#root, ref), false, node);
  };
}
