import { ImproperlyConfigured } from '../errors.ts';
import { FORMAT_NAMES } from './formats.ts';
import { ANNOTATIONS, namedTypes, type JsonSchema } from './json-schema.ts';
import { REFINE } from './plain-schema.ts';

const TYPES: ReadonlySet<unknown> = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']);

type Expected = readonly [isRight: (value: unknown) => boolean, expected: string];

const number: Expected = [Number.isFinite, 'a number'];
const count: Expected = [(value) => Number.isSafeInteger(value) && Number(value) >= 0, 'a whole number from 0 on'];
const json: Expected = [isJson, 'JSON'];
const text: Expected = [(value) => typeof value === 'string', 'a text'];
const schema: Expected = [isRecord, 'a schema'];
const schemas: Expected = [isListOfSchemas, 'an array of schemas'];
const schemasByName: Expected = [isRecordOf(isRecord), 'an object of schemas'];

/** The values that each keyword may have, and how they are called. */
const VALUES: ReadonlyMap<string, Expected> = new Map<string, Expected>([
  ['type', [(value) => [value].flat().every((type) => TYPES.has(type)), 'a JSON type, or several']],
  ['const', json],
  ['enum', [(value) => Array.isArray(value) && value.length > 0 && isJson(value), 'an array of JSON values']],
  ['default', json],
  ['minimum', number],
  ['maximum', number],
  ['exclusiveMinimum', number],
  ['exclusiveMaximum', number],
  ['multipleOf', [(value) => Number.isFinite(value) && Number(value) > 0, 'greater than 0']],
  ['minLength', count],
  ['maxLength', count],
  ['pattern', [isPattern, 'a regular expression']],
  ['format', text],
  ['items', [(value) => isRecord(value) || isListOfSchemas(value), 'a schema, or an array of schemas']],
  ['additionalItems', schema],
  ['minItems', count],
  ['maxItems', count],
  ['uniqueItems', [(value) => typeof value === 'boolean', 'true or false']],
  ['contains', schema],
  ['minContains', count],
  ['maxContains', count],
  ['properties', schemasByName],
  ['patternProperties', [isRecordOf(isRecord, isPattern), 'an object of schemas by regular expressions']],
  ['additionalProperties', [(value) => value === true || isRecord(value), 'a schema']],
  ['unevaluatedProperties', [(value) => value === true, 'true or false']],
  ['propertyNames', schema],
  ['required', [isListOfTexts, 'an array of names']],
  ['minProperties', count],
  ['maxProperties', count],
  ['dependentRequired', [isRecordOf(isListOfTexts), 'an object of arrays of names']],
  ['dependentSchemas', schemasByName],
  ['allOf', schemas],
  ['anyOf', schemas],
  ['oneOf', schemas],
  ['not', schema],
  ['if', schema],
  ['then', schema],
  ['else', schema],
  ['$ref', text],
  [REFINE, [Array.isArray, 'refinements']],
]);

/**
 * Checks that validation keeps to everything that a schema says (the schemas inside it are checked by themselves).
 *
 * @throws ImproperlyConfigured for a keyword, a format, a value of a keyword or a required name that is not known
 */
export function checkKeywords(checked: JsonSchema): void {
  for (const [keyword, value] of Object.entries(checked)) {
    if (ANNOTATIONS.has(keyword) && keyword !== 'default') continue;
    const [isRight, expected] = VALUES.get(keyword) ?? [];
    if (isRight === undefined) throw new ImproperlyConfigured(`unknown keyword: "${keyword}"`);
    if (!isRight(value)) throw new ImproperlyConfigured(`${keyword} must be ${expected}, not ${written(value)}`);
  }
  const { format, properties, required = [] } = checked as JsonSchema & { format?: string };
  if (format !== undefined && !FORMAT_NAMES.has(format)) throw new ImproperlyConfigured(`unknown format "${format}"`);
  const undeclared = required.find((name) => properties !== undefined && !Object.hasOwn(properties, name));
  if (undeclared !== undefined && namedTypes(checked).includes('object')) {
    throw new ImproperlyConfigured(`required names "${undeclared}", which is none of the properties`);
  }
}

function written(value: unknown): string {
  return isJson(value) ? JSON.stringify(value) : String(value);
}

/** Tells JSON from what no request can hold: undefined, a bigint, a function, a value that contains itself. */
function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}

function isPattern(value: unknown): boolean {
  try {
    return typeof value === 'string' && new RegExp(value, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

function isListOfTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === 'string');
}

function isListOfSchemas(value: unknown): boolean {
  return Array.isArray(value) && value.every(isRecord);
}

function isRecordOf(
  isPart: (value: unknown) => boolean,
  isName: (name: string) => boolean = () => true,
): (value: unknown) => boolean {
  return (value) =>
    isRecord(value) && Object.entries(value as object).every(([name, part]) => isName(name) && isPart(part));
}

function isRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
