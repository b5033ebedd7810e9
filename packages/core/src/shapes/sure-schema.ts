import type { JsonSchema } from './json-schema.ts';
import { FORMAT_NAMES } from './formats.ts';
import { REFINE } from './new-ajv.ts';

/** Whether AJV compiles a keyword of this value; `schema` is the one that it stands in. */
type Sure = (value: unknown, schema: JsonSchema) => boolean;

const anything: Sure = () => true;
const aNumber: Sure = (value) => Number.isFinite(value);
const aSchema: Sure = (value) => isSureToCompile(value);
const someSchemas: Sure = (value) => isListOf(value, isSureToCompile);

const TYPES: ReadonlySet<unknown> = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']);
/** A part of a schema is found by a pointer, in which other names than these are written otherwise. */
const PLAIN_NAME = /^[\w-]+$/;

const KEYWORDS: Readonly<Record<string, Sure>> = {
  title: anything,
  description: anything,
  default: anything,
  deprecated: anything,
  readOnly: anything,
  writeOnly: anything,
  example: anything,
  examples: anything,
  type: (value) => TYPES.has(value) || isListOf(value, (type) => TYPES.has(type)),
  const: isLiteral,
  enum: (values) => isListOf(values, isLiteral),
  minimum: aNumber,
  maximum: aNumber,
  exclusiveMinimum: aNumber,
  exclusiveMaximum: aNumber,
  multipleOf: (value) => Number.isFinite(value) && (value as number) > 0,
  minLength: aNumber,
  maxLength: aNumber,
  pattern: isPattern,
  format: (name) => typeof name === 'string' && FORMAT_NAMES.has(name),
  minItems: aNumber,
  maxItems: aNumber,
  uniqueItems: (value) => typeof value === 'boolean',
  items: aSchema,
  minProperties: aNumber,
  maxProperties: aNumber,
  properties: (value) =>
    isRecord(value) && Object.entries(value).every(([name, child]) => PLAIN_NAME.test(name) && isSureToCompile(child)),
  additionalProperties: (value) => value === true || isSureToCompile(value),
  // Strict as it is here, AJV refuses a name that is required and not declared beside it.
  required: (value, { properties = {} }) =>
    isListOf(value, (name) => typeof name === 'string' && Object.hasOwn(properties, name)),
  allOf: someSchemas,
  anyOf: someSchemas,
  oneOf: someSchemas,
  [REFINE]: Array.isArray,
};

/**
 * Whether a schema is made of nothing but what AJV is known to compile, so that its code need not be generated to find
 * its mistakes. Of any other schema AJV has to be asked.
 */
export function isSureToCompile(schema: unknown): boolean {
  if (!isRecord(schema)) return false;
  return Object.entries(schema).every(
    ([keyword, value]) => Object.hasOwn(KEYWORDS, keyword) && KEYWORDS[keyword]!(value, schema),
  );
}

function isPattern(text: unknown): boolean {
  try {
    return typeof text === 'string' && new RegExp(text, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

function isLiteral(value: unknown): boolean {
  return value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}

function isListOf(value: unknown, isOne: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((item) => isOne(item));
}

function isRecord(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
