import { ImproperlyConfigured } from '../errors.ts';

/** The parts of a JSON Schema object that the framework reads. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, AnySchema>>;
  readonly patternProperties?: Readonly<Record<string, AnySchema>>;
  readonly required?: readonly string[];
  readonly items?: AnySchema | readonly AnySchema[];
  readonly additionalItems?: AnySchema;
  readonly allOf?: readonly AnySchema[];
  readonly anyOf?: readonly AnySchema[];
  readonly oneOf?: readonly AnySchema[];
  readonly enum?: readonly unknown[];
  readonly $ref?: string;
}

/** A schema, or `true` for any value, `false` for none. */
export type AnySchema = JsonSchema | boolean;

/** Lists the JSON types that a schema names. Empty if it names none. OpenAPI's `nullable` counts as null. */
export function namedTypes({ type = [], nullable }: JsonSchema): readonly string[] {
  const types = typeof type === 'string' ? [type] : type;
  return nullable === true && types.length > 0 && !types.includes('null') ? [...types, 'null'] : types;
}

/** Lists the only values that a schema allows. Undefined if it does not list them. */
export function namedValues(schema: JsonSchema): readonly unknown[] | undefined {
  return 'const' in schema ? [schema['const']] : schema.enum;
}

/** Schemas that other schemas may refer to, by `$id`. */
export type SharedSchemas = Readonly<Record<string, unknown>>;

/**
 * Finds the target of a `$ref`: `#`, a pointer such as `#/$defs/Node`, or a `$id` of the same document or of a shared
 * schema.
 *
 * @throws ImproperlyConfigured for a reference to a target outside these schemas
 */
export function referredSchema(root: JsonSchema, ref: string, documents: SharedSchemas = {}): JsonSchema {
  const found =
    withId(root, ref) ??
    (ref.startsWith('#') ? schemaAt(root, ref.split('/').slice(1)) : withId(Object.values(documents), ref));
  if (found !== undefined) return found;
  throw new ImproperlyConfigured(`$ref "${ref}" refers to nothing in the schema it stands in`);
}

function withId(node: unknown, id: string): JsonSchema | undefined {
  if (typeof node !== 'object' || node === null) return undefined;
  if ((node as JsonSchema)['$id'] === id) return node as JsonSchema;
  for (const child of Object.values(node)) {
    const found = withId(child, id);
    if (found !== undefined) return found;
  }
  return undefined;
}

function schemaAt(node: unknown, [step, ...rest]: readonly string[]): JsonSchema | undefined {
  if (typeof node !== 'object' || node === null) return undefined;
  const name = step?.replaceAll('~1', '/').replaceAll('~0', '~');
  if (name === undefined) return node as JsonSchema;
  return Object.hasOwn(node, name) ? schemaAt(node[name as never], rest) : undefined;
}
