import type { TSchema } from 'typebox';

/** The limit of a body whose schema allows no more, in bytes. */
const USUAL_LIMIT = 16_384;
/** A code point takes at most so many bytes in JSON, as two escapes: `\ud83d\ude00`. */
const ESCAPED_BYTES = 12;
/** Numbers and booleans. */
const VALUE_BYTES = 32;
/** Formats and patterns of texts in ASCII, which no client escapes. */
const ASCII_FORMATS: ReadonlySet<unknown> = new Set(['email', 'uuid', 'date-time', 'date', 'time', 'uri']);
const ASCII_PATTERN = /^\^\[[A-Za-z0-9_-]+\]/;

/** The keywords of a schema that bound the size of its values. */
interface Bounds {
  readonly type?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Bounds[];
  readonly properties?: Readonly<Record<string, Bounds>>;
  readonly items?: Bounds;
  readonly maxItems?: number;
  readonly maxLength?: number;
  readonly format?: unknown;
  readonly pattern?: unknown;
}

/**
 * Returns the limit of a route's body in bytes: no body that fits the schema is too long, however it is escaped.
 *
 * @param most the application's limit, for schemas that do not bound their texts
 */
export function bodyLimitOf(schema: TSchema | undefined, most: number): number {
  if (schema === undefined) return USUAL_LIMIT;
  return Math.max(USUAL_LIMIT, Math.min(most, largest(schema)));
}

/** Returns the size of the largest value of a schema; Infinity without a bound. */
function largest(schema: Bounds): number {
  if (schema.const !== undefined) return sizeOf(schema.const);
  if (schema.enum !== undefined) return Math.max(0, ...schema.enum.map(sizeOf));
  if (schema.anyOf !== undefined) return Math.max(0, ...schema.anyOf.map(largest));
  if (schema.properties !== undefined) {
    const fields = Object.entries(schema.properties).map(([name, field]) => sizeOf(name) + 2 + largest(field));
    return fields.reduce((sum, size) => sum + size, 2);
  }
  if (schema.type === 'array') {
    return schema.items === undefined ? Infinity : 2 + (schema.maxItems ?? Infinity) * (1 + largest(schema.items));
  }
  if (schema.type === 'string') return 2 + (schema.maxLength ?? Infinity) * (isAscii(schema) ? 1 : ESCAPED_BYTES);
  return schema.type === undefined ? Infinity : VALUE_BYTES;
}

function isAscii({ format, pattern }: Bounds): boolean {
  return ASCII_FORMATS.has(format) || (typeof pattern === 'string' && ASCII_PATTERN.test(pattern));
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
