/** A JSON object. */
export interface JsonObject {
  readonly [name: string]: unknown;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Keywords whose values are data, not schemas. */
const DATA_KEYWORDS: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'example', 'examples']);

/** Converts a schema to plain JSON Schema, without TypeBox's internal properties and without identifiers. */
export function plainSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plainSchema);
  if (schema instanceof RegExp) return schema.source;
  if (!isObject(schema)) return plainValue(schema);
  const entries = Object.entries(schema)
    .filter(([keyword, value]) => !/^(?:~|\$id$|\$schema$)/.test(keyword) && value !== undefined)
    .map(([keyword, value]) => [keyword, plainKeyword(keyword, value)]);
  return Object.fromEntries(entries);
}

function plainKeyword(keyword: string, value: unknown): unknown {
  if (DATA_KEYWORDS.has(keyword)) return plainValue(value);
  if (!isObject(value) || !(keyword === 'properties' || keyword === 'patternProperties' || keyword === '$defs')) {
    return plainSchema(value);
  }
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plainSchema(each)]));
}

/** Converts a value to JSON: dates become strings, bigints become numbers. */
function plainValue(value: unknown): unknown {
  const text = JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? Number(each) : each)) as
    | string
    | undefined;
  return text === undefined ? null : JSON.parse(text);
}

/** Returns the schema of the value at a JSON pointer; undefined if none is declared. */
export function schemaAt(schema: unknown, pointer: string): unknown {
  let at: unknown = schema;
  for (const step of pointer.split('/').slice(1)) at = stepInto(at, step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return at;
}

function stepInto(schema: unknown, step: string): unknown {
  if (!isObject(schema)) return undefined;
  const { properties, items } = schema;
  if (isObject(properties) && Object.hasOwn(properties, step)) return properties[step];
  if (items !== undefined && /^\d+$/.test(step)) return items;
  return alternatives(schema)
    .map((each) => stepInto(each, step))
    .find((found) => found !== undefined);
}

/** Lists the alternative schemas of a value. */
export function alternatives({ anyOf, oneOf, allOf }: JsonObject): readonly unknown[] {
  return [anyOf, oneOf, allOf].flatMap((each) => (Array.isArray(each) ? (each as unknown[]) : []));
}

/** Lists the property names in a schema; undefined if it accepts others too, or is not an object. */
export function propertyNames(schema: unknown): readonly string[] | undefined {
  if (!isObject(schema)) return undefined;
  const { properties, additionalProperties, patternProperties } = schema;
  if (isObject(properties)) {
    const isOpen = patternProperties !== undefined || (additionalProperties ?? false) !== false;
    return isOpen ? undefined : Object.keys(properties);
  }
  const kinds = alternatives(schema).map(propertyNames);
  if (kinds.length === 0 || kinds.includes(undefined)) return undefined;
  return [...new Set((kinds as string[][]).flat())];
}
