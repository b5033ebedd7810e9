import { ImproperlyConfigured } from '../errors.ts';

/** A JSON Schema object, as far as the framework looks into one. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly required?: readonly string[];
  readonly items?: JsonSchema | readonly JsonSchema[];
  readonly additionalItems?: JsonSchema;
  readonly allOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly if?: JsonSchema;
  readonly then?: JsonSchema;
  readonly else?: JsonSchema;
  readonly dependentSchemas?: Readonly<Record<string, JsonSchema>>;
  readonly enum?: readonly unknown[];
  readonly $ref?: string;
}

/** The JSON types that a schema itself names; none if it does not say. */
export function namedTypes({ type }: JsonSchema): readonly string[] {
  if (type === undefined) return [];
  return typeof type === 'string' ? [type] : type;
}

/** Keywords that say nothing about which values are valid. */
export const ANNOTATIONS: ReadonlySet<string> = new Set([
  '$comment',
  '$defs',
  '$id',
  '$schema',
  'contentEncoding',
  'contentMediaType',
  'default',
  'definitions',
  'deprecated',
  'description',
  'discriminator',
  'example',
  'examples',
  'externalDocs',
  'readOnly',
  'title',
  'writeOnly',
  'xml',
]);

/** Finds the schema that a `$ref` refers to: `#`, a pointer such as `#/$defs/Node`, or a `$id` of the same document. */
export type ResolveRef = (ref: string) => JsonSchema;

/**
 * Makes the function that finds references within one schema.
 *
 * @throws ImproperlyConfigured, when the function is called, for a reference that leads out of the schema
 */
export function schemaRefs(root: JsonSchema): ResolveRef {
  let byId: Map<string, JsonSchema> | undefined;
  return (ref) => {
    byId ??= collectIds(root, new Map());
    const found = byId.get(ref) ?? (ref.startsWith('#') ? follow(root, ref.slice(1)) : undefined);
    if (found === undefined) {
      throw new ImproperlyConfigured(`$ref "${ref}" refers to nothing in the schema it stands in`);
    }
    return found;
  };
}

function collectIds(node: unknown, byId: Map<string, JsonSchema>): Map<string, JsonSchema> {
  if (typeof node !== 'object' || node === null) return byId;
  const id = (node as JsonSchema)['$id'];
  if (typeof id === 'string') byId.set(id, node as JsonSchema);
  for (const child of Object.values(node)) collectIds(child, byId);
  return byId;
}

function follow(root: JsonSchema, pointer: string): JsonSchema | undefined {
  let node: unknown = root;
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    node = typeof node === 'object' && node !== null && Object.hasOwn(node, name) ? node[name as never] : undefined;
  }
  return node as JsonSchema | undefined;
}
