import {
  isListOf,
  isLiteral,
  isMadeOf,
  isNumber,
  isRecord,
  isText,
  isType,
  type Sure,
} from '../shapes/sure-keywords.ts';

const aSize: Sure = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const aSchema: Sure = (value, _schema, depth) => isMadeOf(KEYWORDS, value, depth);

const KEYWORDS: Readonly<Record<string, Sure>> = {
  title: isText,
  description: isText,
  type: (value) => isType(value) || isSetOf(value, isType),
  format: isText,
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  minLength: aSize,
  maxLength: aSize,
  minItems: aSize,
  maxItems: aSize,
  enum: (values) => isSetOf(values, isLiteral),
  items: aSchema,
  properties: (value, schema, depth) =>
    isRecord(value) && Object.values(value).every((child) => aSchema(child, schema, depth)),
  required: (names) => isSetOf(names, isText),
};

/**
 * Whether the schema of an answer is made of nothing but what fast-json-stringify is known to compile, so that its code
 * need not be generated to find its mistakes: so are the read shapes of most views, and the pages of them. Of any other
 * schema the compiler has to be asked.
 */
export function isSureToSerialize(schema: unknown): boolean {
  return isMadeOf(KEYWORDS, schema, 0);
}

function isSetOf(value: unknown, isOne: (item: unknown) => boolean): boolean {
  return isListOf(value, isOne) && new Set(value).size === value.length;
}
