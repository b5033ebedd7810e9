import type { TSchema } from 'typebox';
import { atOnce, isYes } from '../awaitable.ts';
import { ImproperlyConfigured } from '../errors.ts';
import type { Place } from './error-details.ts';
import { type AnySchema, type JsonSchema, referredSchema } from './json-schema.ts';
import { type KeywordContext, Stage } from './keyword.ts';
import { KEYWORDS } from './keywords.ts';
import { type Assertion, type Judge, SchemaNode } from './reading.ts';
import { textReader } from './texts.ts';

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
  node(schema: AnySchema, fillsIn: boolean): SchemaNode {
    return this.#fill(new SchemaNode(), schema, fillsIn);
  }

  /** Compiles what a `$ref` refers to once: a schema may contain itself. */
  #referredNode(ref: string): SchemaNode {
    const known = this.#referred.get(ref);
    if (known !== undefined) return known;
    const node = new SchemaNode();
    this.#referred.set(ref, node);
    return this.#fill(node, referredSchema(this.#root, ref), false);
  }

  #fill(node: SchemaNode, given: AnySchema, fillsIn: boolean): SchemaNode {
    const schema = withoutDialect(given);
    const context: KeywordContext = {
      schema,
      place: this.#place,
      fillsIn,
      node: (child, fillsInToo = false) => this.node(child, fillsInToo),
      referred: (ref) => this.#referredNode(ref),
    };
    if (this.#place !== 'body') node.readText = textReader(schema);
    const stages = Object.values(Stage).map(() => ({ assertions: [] as Assertion[], judges: [] as Judge[] }));
    stages[Stage.refinement]!.assertions.push(...refinements(given));
    for (const [name, argument] of Object.entries(schema)) {
      if (name.startsWith('x-') || argument === undefined) continue;
      const keyword = KEYWORDS.get(name);
      if (keyword === undefined) throw new ImproperlyConfigured(`unknown keyword: "${name}"`);
      const compiled = keyword.compile(name, typeof argument === 'bigint' ? Number(argument) : argument, context);
      const { assertions, judges } = stages[keyword.stage]!;
      if (typeof compiled === 'function') judges.push(compiled);
      else if (compiled !== undefined) assertions.push(compiled);
    }
    node.stages = stages.filter(({ assertions, judges }) => assertions.length + judges.length > 0);
    return node;
  }
}

/** Writes what draft 2020 calls `prefixItems` as TypeBox's draft 2019 has it, and a schema that is `true` or `false`. */
function withoutDialect(schema: AnySchema): JsonSchema {
  if (typeof schema === 'boolean') return schema ? {} : { not: {} };
  if (schema['prefixItems'] === undefined) return schema;
  const { prefixItems, items, ...others } = schema;
  return { ...others, items: prefixItems as AnySchema[], additionalItems: items as AnySchema };
}

/** The form in which Type.Refine adds checks to a schema, out of sight. */
interface Refined {
  readonly '~refine'?: readonly {
    readonly check: (value: unknown) => unknown;
    readonly error?: ((value: unknown) => unknown) | string;
  }[];
  readonly '~codec'?: unknown;
}

/** Makes the assertions of a schema's refinements. */
function refinements(schema: AnySchema): Assertion[] {
  const { '~refine': refined = [], '~codec': codec } = schema as Refined;
  if (codec !== undefined) {
    throw new ImproperlyConfigured(
      'Type.Codec, Type.Decode and Type.Encode do not work in a shape: convert in a hook of the view',
    );
  }
  return refined.map(({ check, error }) => ({
    holds: (value) => isYes(atOnce(check(value), 'The check of a Type.Refine()')),
    fault: (value) => {
      const message: unknown =
        typeof error === 'function' ? atOnce(error(value), 'The words of a Type.Refine()') : error;
      return { path: '', message: typeof message === 'string' ? message : 'is not valid' };
    },
  }));
}
