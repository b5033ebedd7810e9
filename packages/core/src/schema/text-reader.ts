import { type AnySchema, type JsonSchema, namedTypes, namedValues } from './json-schema.ts';
import { markRounded, rememberRounded } from '../support/rounded-numbers.ts';

const INTEGER = /^(?:0|-?[1-9]\d*)$/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

/**
 * Makes the function that converts a text of a query string or a path to the type of a schema. `12` becomes an integer
 * (only in canonical form: not `012`, `1e1` or ` 12`), `true` and `false` a boolean, one or several values an array. A
 * text that does not fit, and null, stay unchanged, and validation rejects them.
 */
export function textReader(schema: JsonSchema): (value: unknown) => unknown {
  const types = new Set(namedTypes(schema));
  const choices = namedValues(schema)?.filter((choice) => typeof choice !== 'object');
  return (value) => {
    if (types.has('array')) return [value].flat();
    if (typeof value !== 'string') return value;
    if (choices !== undefined) return choices.find((choice) => String(choice) === value) ?? value;
    if (types.has('boolean') && BOOLEANS.has(value)) return BOOLEANS.get(value);
    if (types.has('integer') && INTEGER.test(value) && Number.isSafeInteger(Number(value))) return Number(value);
    if (types.has('number') && NUMBER.test(value) && Number.isFinite(Number(value))) return Number(value);
    return value;
  };
}

/**
 * Makes the function that converts a field of a form, one text or several of the same name, to the type of a schema. It
 * works as in a query string. Parts of objects and arrays are JSON. An empty text becomes null if the schema allows
 * null and no text. In a union, the first member that can convert the field decides. If another member is a text, only
 * objects and arrays are converted. A field without a schema is JSON, or else the text.
 */
export function formReader(given: AnySchema): (value: unknown) => unknown {
  const schema = typeof given === 'object' ? given : {};
  const types = new Set(namedTypes(schema));
  const members = (schema.anyOf ?? schema.oneOf)?.filter((member) => member !== true && member !== false);
  if (members !== undefined) return unionReader(members);
  if (Object.keys(schema).every((keyword) => ANNOTATIONS.has(keyword))) return (value) => eachText(value, parsed);
  const read = textReader(schema);
  const readItem = types.has('array') ? formReader((schema as { items?: AnySchema }).items ?? {}) : undefined;
  return (value) => {
    if (value === '' && types.has('null') && !types.has('string')) return null;
    if (
      typeof value === 'string' &&
      (types.has('object') ? value.startsWith('{') : types.has('array') && value.startsWith('['))
    ) {
      return parsed(value);
    }
    const known = read(value);
    return readItem !== undefined && Array.isArray(known) ? known.map(readItem) : known;
  };
}

/** Remembers the numbers of a form that JavaScript has rounded: the value of a field, or the items of a list. */
export function rememberRoundedTexts(body: object, name: string, text: unknown, value: unknown): void {
  if (typeof text === 'string' && typeof value === 'number' && NUMBER.test(text)) {
    rememberRounded(body, name, text, value);
  }
  if (!Array.isArray(value)) return;
  const texts = [text].flat();
  for (const [index, item] of value.entries()) rememberRoundedTexts(value, String(index), texts[index], item);
}

/** The keywords that do not restrict values. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  'contentMediaType',
]);

function unionReader(members: readonly JsonSchema[]): (value: unknown) => unknown {
  const readers = members.map((member) => formReader(member as AnySchema));
  const takesText = members.some((member) => namedTypes(member).includes('string'));
  return (value) => {
    const read = readers.map((reader) => reader(value)).find((known) => known !== value) ?? value;
    return takesText && typeof read !== 'object' ? value : read;
  };
}

function eachText(value: unknown, read: (text: string) => unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => eachText(each, read));
  return typeof value === 'string' ? read(value) : value;
}

/** Parses JSON. Other texts stay unchanged, and validation rejects them. */
function parsed(text: string): unknown {
  try {
    return markRounded(text, JSON.parse(text));
  } catch {
    return text;
  }
}
