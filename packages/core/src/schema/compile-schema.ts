import type { TSchema } from 'typebox';
import { ImproperlyConfigured } from '../errors/errors.ts';
import type { Validated } from './error-details.ts';
import { getOrMake } from '../support/get-or-make.ts';
import { isRecord } from '../support/json.ts';
import { nearest } from '../errors/nearest.ts';
import type { AnySchema, JsonSchema } from './json-schema.ts';
import { References, type SharedSchemas } from './references.ts';
import { type KeywordContext, Stage } from './keyword.ts';
import { KEYWORDS } from './keywords.ts';
import { type Assertion, type Check, SchemaNode } from './reading.ts';
import { responseReader } from './response-reader.ts';
import { textReader } from './text-reader.ts';

/** The nodes of schemas that were compiled together, by schema. */
export type CompiledNodes = Map<AnySchema, SchemaNode>;

/**
 * Compiles a schema at every depth. Later changes to the schema, by a hook of the application or by its author, do not
 * change the validator.
 *
 * @param nodes shared by schemas that are compiled at the same time and have common properties or items
 * @throws ImproperlyConfigured for an unknown keyword, format or reference, for a wrong value of a keyword, and for a
 * value that JSON does not have
 */
export function compileSchema(
  schema: TSchema,
  place: Validated,
  nodes?: CompiledNodes,
  documents?: SharedSchemas,
): SchemaNode {
  return compilerOf(schema, place, nodes, documents)(schema as JsonSchema);
}

/** Compiles a schema, or a schema in it, whose references refer to the root. */
export type CompilePart = (schema: AnySchema) => SchemaNode;

/** Makes the compiler of a schema and of the schemas in it, with the errors of `compileSchema`. */
export function compilerOf(
  schema: TSchema,
  place: Validated,
  nodes: CompiledNodes = new Map(),
  documents: SharedSchemas = {},
): CompilePart {
  const compiler = new SchemaCompiler(schema as JsonSchema, place, nodes, documents);
  return (part) => {
    try {
      return compiler.node(part, true);
    } catch (error) {
      throw new ImproperlyConfigured(`The ${place} schema cannot be compiled: ${(error as Error).message}`, {
        cause: error,
      });
    }
  };
}

/**
 * Rejects a misspelt keyword in a response schema, before the schemas are known that an application adds by
 * `addSchema`.
 *
 * @throws ImproperlyConfigured, which suggests the correct keyword
 */
export function checkSpelling(schema: TSchema): void {
  try {
    compileSchema(schema, 'response');
  } catch (error) {
    let cause = error as Error;
    while (cause.cause instanceof Error) cause = cause.cause;
    if (cause instanceof MisspeltKeyword) throw error;
  }
}

/** An unknown keyword that is close to a known one. */
class MisspeltKeyword extends ImproperlyConfigured {}

/** The names of keywords that do not restrict values: the application's own, and TypeBox's internal ones. */
const SILENT = /^x-|^(?:~kind|~optional|~readonly|~immutable|~unsafe)$/;

/** Distinguishes a schema from an object of schemas by name, `{ id: Type.Integer() }`, which would accept any value. */
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

/** @throws ImproperlyConfigured for bounds that allow no value */
function checkBounds(schema: JsonSchema): void {
  for (const [least, most] of BOUNDS) {
    const [from, to] = [schema[least], schema[most]];
    if (typeof from !== 'number' || typeof to !== 'number' || from <= to) continue;
    throw new ImproperlyConfigured(`${least} ${from} is above ${most} ${to}, so that no value fits`);
  }
}

/** @throws ImproperlyConfigured for an unknown keyword. A response may have keywords that do not resemble a known one */
function checkUnknown(name: string, place: Validated): void {
  const meant = nearest(name, KEYWORDS.keys());
  if (meant !== undefined) throw new MisspeltKeyword(`unknown keyword: "${name}"; did you mean "${meant}"?`);
  if (place !== 'response') throw new ImproperlyConfigured(`unknown keyword: "${name}"`);
}

/** Compiles one schema with all schemas in it. */
class SchemaCompiler {
  readonly #place: Validated;
  readonly #nodes: CompiledNodes;
  readonly #targets: References;
  readonly #referred = new Map<AnySchema, Map<boolean, SchemaNode>>();
  #references = 0;

  constructor(root: JsonSchema, place: Validated, nodes: CompiledNodes, documents: SharedSchemas) {
    this.#place = place;
    this.#nodes = nodes;
    this.#targets = new References(root, documents);
  }

  /**
   * Compiles a schema. Inside unions, conditions and references, absent properties do not get their defaults. Inside
   * unions and conditions, a schema without further properties rejects them.
   */
  readonly node = (schema: AnySchema, fillsIn = false, isClosed = false, node = new SchemaNode()): SchemaNode => {
    const shared = fillsIn ? this.#nodes.get(schema) : undefined;
    if (shared !== undefined) return shared;
    const references = this.#references;
    const plain = typeof schema === 'object' ? schema : schema ? {} : { not: {} };
    node.convert = this.#converter(plain);
    node.isComplete = isClosed && plain['unevaluatedProperties'] === false;
    const context: KeywordContext = {
      schema: plain,
      place: this.#place,
      fillsIn,
      isClosed,
      node: (part, fills) => this.node(part, fills, isClosed),
      choice: (part) => this.node(part, false, true),
      referred: (ref) => this.#target(plain, ref, isClosed),
    };
    const stages = Object.values(Stage).map((): (Assertion | Check)[] => []);
    // TypeBox makes refinements non-enumerable, so Object.keys() omits them.
    for (const name of Object.getOwnPropertyNames(plain)) {
      const keyword = KEYWORDS.get(name);
      if (plain[name] === undefined || (keyword === undefined && SILENT.test(name))) continue;
      if (keyword === undefined) {
        checkUnknown(name, this.#place);
        continue;
      }
      const compiled = keyword.compile(name, plain[name], context);
      if (compiled !== undefined) stages[keyword.stage]!.push(compiled);
    }
    checkBounds(plain);
    // A copy allocates only as much memory as it needs.
    node.stages = stages.filter((stage) => stage.length > 0).map((stage) => stage.slice());
    // A schema with a reference is not shared, because the reference refers to its own root.
    if (fillsIn && references === this.#references) this.#nodes.set(schema, node);
    return node;
  };

  /** Compiles the target of a `$ref` once, because a schema may contain itself. */
  #target(schema: JsonSchema, ref: string, isClosed: boolean): SchemaNode {
    this.#references++;
    const target = this.#targets.target(schema, ref);
    const known = getOrMake(this.#referred, target, () => new Map<boolean, SchemaNode>());
    const found = known.get(isClosed);
    if (found !== undefined) return found;
    const node = new SchemaNode();
    known.set(isClosed, node);
    return this.node(target, false, isClosed, node);
  }

  #converter(schema: JsonSchema): SchemaNode['convert'] {
    if (this.#place === 'body') return undefined;
    return this.#place === 'response' ? responseReader(schema) : textReader(schema);
  }
}
