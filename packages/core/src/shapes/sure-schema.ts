import { FORMAT_NAMES } from './formats.ts';
import { REFINE } from './schema-keywords.ts';
import {
  isJson,
  isListOf,
  isLiteral,
  isMadeOf,
  isNumber,
  isRecord,
  isText,
  isType,
  type Sure,
} from './sure-keywords.ts';

const aSchema: Sure = (value, _schema, depth) => isMadeOf(KEYWORDS, value, depth);
const someSchemas: Sure = (value, schema, depth) => isListOf(value, (item) => aSchema(item, schema, depth));

/** A part of a schema is found by a pointer, in which other names than these are written otherwise. */
const PLAIN_NAME = /^[\w-]+$/;

const KEYWORDS: Readonly<Record<string, Sure>> = {
  title: isJson,
  description: isJson,
  default: isJson,
  deprecated: isJson,
  readOnly: isJson,
  writeOnly: isJson,
  example: isJson,
  examples: isJson,
  type: (value) => isType(value) || isListOf(value, isType),
  const: isLiteral,
  enum: (values) => isListOf(values, isLiteral),
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  multipleOf: (value) => isNumber(value) && (value as number) > 0,
  minLength: isNumber,
  maxLength: isNumber,
  pattern: isPattern,
  format: (name) => isText(name) && FORMAT_NAMES.has(name),
  minItems: isNumber,
  maxItems: isNumber,
  uniqueItems: (value) => typeof value === 'boolean',
  items: aSchema,
  minProperties: isNumber,
  maxProperties: isNumber,
  properties: (value, schema, depth) =>
    isRecord(value) &&
    Object.entries(value).every(([name, child]) => PLAIN_NAME.test(name) && aSchema(child, schema, depth)),
  additionalProperties: (value, schema, depth) => value === true || aSchema(value, schema, depth),
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
  return isMadeOf(KEYWORDS, schema, 0);
}

function isPattern(text: unknown): boolean {
  try {
    return typeof text === 'string' && new RegExp(text, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}
