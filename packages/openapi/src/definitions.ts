import { isObject, type JsonObject } from './json-schema.ts';
import type { NamedSchema } from './shared-components.ts';

interface HoistedDocument {
  readonly document: JsonObject;
  readonly named: NamedSchema[];
  /** The copy of an object of the document before. */
  readonly copyOf: (original: JsonObject) => JsonObject;
}

/**
 * Takes the definitions (`$defs`) out of the schemas of a document, where nothing could refer to them, and makes components
 * of them. Those of one name that differ are told apart by a number.
 */
export function hoistDefinitions(document: JsonObject): HoistedDocument {
  const named = new Map<string, { readonly text: string; readonly schema: JsonObject }>();
  const copies = new Map<JsonObject, JsonObject>();
  const hoist = (value: unknown, names: ReadonlyMap<string, string>): unknown => {
    if (Array.isArray(value)) return value.map((item) => hoist(item, names));
    if (!isObject(value)) return value;
    const { $defs: definitions, ...rest } = value;
    const known = isObject(definitions) ? new Map([...names, ...nameAll(definitions)]) : names;
    const entries = Object.entries(rest).map(([key, child]) => [
      key,
      referredTo(key, child, known) ?? hoist(child, known),
    ]);
    const copy = Object.fromEntries(entries) as JsonObject;
    copies.set(value, copy);
    return copy;
  };
  const nameAll = (definitions: JsonObject): Map<string, string> => {
    const text = JSON.stringify(definitions);
    const names = new Map<string, string>();
    const added: string[] = [];
    for (const name of Object.keys(definitions)) {
      let free = name;
      for (let number = 2; (named.get(free)?.text ?? text) !== text; number++) free = `${name}${number}`;
      names.set(name, free);
      if (!named.has(free)) added.push(name);
      if (!named.has(free)) named.set(free, { text, schema: {} });
    }
    for (const name of added) {
      const schema = hoist(definitions[name], names) as JsonObject;
      named.set(names.get(name)!, { text, schema });
    }
    return names;
  };
  const hoisted = hoist(document, new Map()) as JsonObject;
  return {
    document: hoisted,
    named: [...named].map(([name, { schema }]) => ({ name, schema })),
    copyOf: (original) => copies.get(original)!,
  };
}

/** The component that a `$ref` to a definition becomes. */
function referredTo(key: string, value: unknown, names: ReadonlyMap<string, string>): string | undefined {
  if (key !== '$ref' || typeof value !== 'string') return undefined;
  const name = names.get(value.replace(/^#\/\$defs\//, ''));
  return name === undefined ? undefined : `#/components/schemas/${name}`;
}
