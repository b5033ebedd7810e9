import { componentName } from './component-name.ts';
import { isObject, type JsonObject } from './json-schema.ts';

interface HoistedDocument {
  readonly document: JsonObject;
  /** The definitions by component name. */
  readonly definitions: JsonObject;
  /** Returns the copy of an object in the original document. */
  readonly copyOf: (original: JsonObject) => JsonObject;
}

/**
 * Moves definitions (`$defs`) from the document's schemas to components, because references inside a document cannot
 * reach them. Different definitions with the same name get numbers.
 *
 * @param taken existing component schemas, whose names are taken
 */
export function hoistDefinitions(document: JsonObject, taken: JsonObject): HoistedDocument {
  const definitions: Record<string, JsonObject> = {};
  /** The component names for a set of definitions, by its JSON. The same schema may appear many times. */
  const known = new Map<string, ReadonlyMap<string, string>>();
  const copies = new Map<JsonObject, JsonObject>();
  const hoist = (value: unknown, names: ReadonlyMap<string, string>): unknown => {
    if (Array.isArray(value)) return value.map((item) => hoist(item, names));
    if (!isObject(value)) return value;
    // Many responses share one schema object. Outside of definitions they can share one copy. Without definitions
    // around it, its copy is one too.
    const copied = names.size === 0 ? copies.get(value) : undefined;
    if (copied !== undefined) return copied;
    const { $defs: inner, ...rest } = value;
    const visible = isObject(inner) ? new Map([...names, ...nameAll(inner)]) : names;
    const entries = Object.entries(rest).map(([key, child]) => [
      key,
      referredTo(key, child, visible) ?? hoist(child, visible),
    ]);
    const copy = Object.fromEntries(entries) as JsonObject;
    copies.set(value, copy);
    return copy;
  };
  const nameAll = (inner: JsonObject): ReadonlyMap<string, string> => {
    const text = JSON.stringify(inner);
    const before = known.get(text);
    if (before !== undefined) return before;
    const names = new Map<string, string>();
    known.set(text, names);
    for (const name of Object.keys(inner)) {
      const free = componentName(name, (each) => !Object.hasOwn(taken, each) && !Object.hasOwn(definitions, each));
      names.set(name, free);
      definitions[free] = {};
    }
    for (const [name, free] of names) definitions[free] = hoist(inner[name], names) as JsonObject;
    return names;
  };
  const hoisted = hoist(document, new Map()) as JsonObject;
  return { document: hoisted, definitions, copyOf: (original) => copies.get(original)! };
}

/** Returns the component for a `$ref` to a definition. */
function referredTo(key: string, value: unknown, names: ReadonlyMap<string, string>): string | undefined {
  if (key !== '$ref' || typeof value !== 'string') return undefined;
  const name = names.get(value.replace(/^#\/\$defs\//, ''));
  return name === undefined ? undefined : `#/components/schemas/${name}`;
}
