/** A JSON object. */
export interface JsonObject {
  readonly [name: string]: unknown;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Converts a value to JSON: dates become strings, bigints become numbers. Returns undefined for values that JSON cannot
 * hold.
 */
export function jsonValue(value: unknown): unknown {
  const text = JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? Number(each) : each)) as
    | string
    | undefined;
  return text === undefined ? undefined : JSON.parse(text);
}

/** Keywords whose values are data, not schemas. */
export const DATA_KEYWORDS: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'example', 'examples']);

/**
 * Converts a schema, from TypeBox or the application, to OpenAPI 3.1, which uses JSON Schema 2020-12. Removes TypeBox's
 * internal properties, and converts `nullable` of OpenAPI 3.0 to a type and tuples to `prefixItems`.
 */
export function documentSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(documentSchema);
  if (schema instanceof RegExp) return schema.source;
  if (!isObject(schema)) return typeof schema === 'string' ? schema : jsonValue(schema);
  const entries = Object.entries(schema)
    .filter(
      ([keyword, value]) =>
        !keyword.startsWith('~') && keyword !== '$id' && keyword !== '$schema' && value !== undefined,
    )
    .map(([keyword, value]) => [keyword, changeInside(keyword, value, documentSchema)]);
  return withNumberFormat(withTuple(withNull(withEnumType(Object.fromEntries(entries) as JsonObject))));
}

/** Changes the schemas inside a keyword. Property names are not keywords. */
function changeInside(keyword: string, value: unknown, change: (schema: unknown) => unknown): unknown {
  if (DATA_KEYWORDS.has(keyword)) return jsonValue(value);
  if (!isObject(value) || !(keyword === 'properties' || keyword === 'patternProperties')) return change(value);
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, change(schema)]));
}

/** Converts `nullable` of OpenAPI 3.0 to a type. */
function withNull(schema: JsonObject): JsonObject {
  const { nullable, ...rest } = schema;
  if (typeof nullable !== 'boolean') return schema;
  return nullable && rest['type'] !== undefined ? { ...rest, type: [rest['type'], 'null'].flat() } : rest;
}

/** Adds the type of an enum's values, which client generators need. */
function withEnumType(schema: JsonObject): JsonObject {
  const { enum: values } = schema;
  if (!Array.isArray(values) || schema['type'] !== undefined) return schema;
  const types = [...new Set(values.map((value) => (value === null ? 'null' : typeof value)))];
  if (types.length === 0 || types.includes('object')) return schema;
  return { type: types.length === 1 ? types[0] : types, ...schema };
}

/** Adds `items` to every array schema, because many readers require it. */
function withTuple(schema: JsonObject): JsonObject {
  const { items, additionalItems, ...rest } = schema;
  if (Array.isArray(items)) return { ...rest, prefixItems: items, items: additionalItems ?? {} };
  return schema['type'] === 'array' && items === undefined ? { ...schema, items: {} } : schema;
}

const LEAST_INT32 = -(2 ** 31);
const GREATEST_INT32 = 2 ** 31 - 1;

/**
 * Adds the format of numbers. Without one, generators of clients for Go, Java and C# choose 32 bits, which lose digits
 * and cannot read great numbers.
 */
function withNumberFormat(schema: JsonObject): JsonObject {
  const types = new Set([schema['type'] ?? []].flat());
  if (schema['format'] !== undefined) return schema;
  if (types.has('number')) return types.has('string') ? schema : { ...schema, format: 'double' };
  const bounds = [schema['minimum'], schema['maximum']].filter((bound) => typeof bound === 'number');
  const isWide = bounds.some((bound) => bound < LEAST_INT32 || bound > GREATEST_INT32);
  return types.has('integer') && !types.has('string') && isWide ? { ...schema, format: 'int64' } : schema;
}

/** Text without the NUL character, which databases cannot store and every route rejects. */
const NO_NUL = '^[^\\u0000]*$';

/** Keywords whose schemas get no defaults filled in. */
const UNFILLED: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else', '$defs']);

function withoutDefaultedNames(schema: JsonObject): JsonObject {
  const { properties, required, ...rest } = schema;
  if (!isObject(properties) || !Array.isArray(required)) return schema;
  const needed = required.filter(
    (name: string) => (properties[name] as JsonObject | undefined)?.['default'] === undefined,
  );
  return { ...rest, ...(needed.length > 0 ? { required: needed } : {}), properties };
}

/**
 * Converts a schema to a request's: strings cannot contain NUL, and properties with a default are not required, because
 * the server fills them in.
 */
export function requestSchema(schema: unknown, isFilled = true): unknown {
  if (Array.isArray(schema)) return schema.map((item) => requestSchema(item, isFilled));
  if (!isObject(schema)) return schema;
  const described = isFilled ? withoutDefaultedNames(schema) : schema;
  const entries = Object.entries(described).map(([keyword, value]) => [
    keyword,
    changeInside(keyword, value, (inner) => requestSchema(inner, isFilled && !UNFILLED.has(keyword))),
  ]);
  const isFree = !['pattern', 'format', 'enum', 'const', 'contentMediaType'].some((keyword) => keyword in schema);
  const isText = [schema['type']].flat().includes('string');
  return { ...Object.fromEntries(entries), ...(isText && isFree ? { pattern: NO_NUL } : {}) };
}
