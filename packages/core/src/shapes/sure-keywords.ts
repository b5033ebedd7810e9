import type { JsonSchema } from './json-schema.ts';

/** Whether a compiler takes a keyword of this value; `schema` is the one that it stands in, `depth` how far inside. */
export type Sure = (value: unknown, schema: JsonSchema, depth: number) => boolean;

/** A schema that contains itself has no end: the compiler is asked, and says what is wrong with it. */
const MAX_DEPTH = 20;

const TYPES: ReadonlySet<unknown> = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']);

/** Whether a schema is made of nothing but these keywords, each of a value that is taken. */
export function isMadeOf(keywords: Readonly<Record<string, Sure>>, schema: unknown, depth: number): boolean {
  if (!isRecord(schema) || depth > MAX_DEPTH) return false;
  return Object.keys(schema).every(
    (keyword) => Object.hasOwn(keywords, keyword) && keywords[keyword]!(schema[keyword], schema, depth + 1),
  );
}

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

export function isNumber(value: unknown): boolean {
  return Number.isFinite(value);
}

export function isType(value: unknown): boolean {
  return TYPES.has(value);
}

export function isLiteral(value: unknown): boolean {
  return value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}

/** Any JSON at all: what a compiler leaves alone. */
export const isJson: Sure = (value, _schema, depth) => isJsonWithin(value, depth);

function isJsonWithin(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return isLiteral(value);
  return depth <= MAX_DEPTH && Object.values(value).every((part) => isJsonWithin(part, depth + 1));
}

export function isListOf(value: unknown, isOne: (item: unknown) => boolean): value is readonly unknown[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => isOne(item));
}

export function isRecord(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
