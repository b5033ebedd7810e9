/** Whether the serializer's compiler takes a keyword of this value; `depth`: how far inside the schema it stands. */
type Sure = (value: unknown, depth: number) => boolean;

/** A schema that contains itself has no end; the compiler says what is wrong with it. */
const MAX_DEPTH = 20;

const TYPES: ReadonlySet<unknown> = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']);

const aText = (value: unknown): boolean => typeof value === 'string';
const aNumber = (value: unknown): boolean => Number.isFinite(value);
const aSize = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

const KEYWORDS: Readonly<Record<string, Sure>> = {
  title: aText,
  description: aText,
  type: (value) => TYPES.has(value) || isSetOf(value, (type) => TYPES.has(type)),
  format: aText,
  minimum: aNumber,
  maximum: aNumber,
  exclusiveMinimum: aNumber,
  exclusiveMaximum: aNumber,
  minLength: aSize,
  maxLength: aSize,
  minItems: aSize,
  maxItems: aSize,
  enum: (values) => isSetOf(values, isLiteral),
  items: isSure,
  properties: (value, depth) => isRecord(value) && Object.values(value).every((child) => isSure(child, depth)),
  required: (names) => isSetOf(names, aText),
};

/**
 * Whether the schema of an answer is made of nothing but what fast-json-stringify is known to compile, so that its code
 * need not be generated to find its mistakes: so are the read shapes of most views, and the pages of them. Of any other
 * schema the compiler has to be asked.
 */
export function isSureToSerialize(schema: unknown): boolean {
  return isSure(schema, 0);
}

function isSure(schema: unknown, depth: number): boolean {
  if (!isRecord(schema) || depth > MAX_DEPTH) return false;
  return Object.entries(schema).every(
    ([keyword, value]) => Object.hasOwn(KEYWORDS, keyword) && KEYWORDS[keyword]!(value, depth + 1),
  );
}

function isLiteral(value: unknown): boolean {
  return value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}

function isSetOf(value: unknown, isOne: (item: unknown) => boolean): boolean {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    new Set(value).size === value.length &&
    value.every((item) => isOne(item))
  );
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
