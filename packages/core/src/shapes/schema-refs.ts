import { ImproperlyConfigured } from '../errors.ts';
import type { JsonSchema } from './json-schema.ts';

/** Finds what a `$ref` inside one schema refers to: `#`, a pointer such as `#/$defs/Node`, or a `$id` of its own. */
export type ResolveRef = (ref: string) => JsonSchema;

/**
 * @throws ImproperlyConfigured, when called with it, for a reference that leads out of the schema
 */
export function schemaRefs(root: JsonSchema): ResolveRef {
  const byId = new Map<string, JsonSchema>();
  collectIds(root, byId);
  return (ref) => {
    const found = byId.get(ref) ?? (ref.startsWith('#') ? follow(root, ref.slice(1)) : undefined);
    if (found === undefined) {
      throw new ImproperlyConfigured(`$ref "${ref}" refers to nothing in the schema it stands in`);
    }
    return found;
  };
}

function collectIds(node: unknown, byId: Map<string, JsonSchema>): void {
  if (typeof node !== 'object' || node === null) return;
  const id = (node as JsonSchema)['$id'];
  if (typeof id === 'string') byId.set(id, node as JsonSchema);
  for (const child of Object.values(node)) collectIds(child, byId);
}

function follow(root: JsonSchema, pointer: string): JsonSchema | undefined {
  let node: unknown = root;
  for (const step of pointer.split('/').slice(1)) {
    node = (node as Record<string, unknown> | undefined)?.[step.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return node as JsonSchema | undefined;
}
