import { type JsonSchema, namedTypes } from './json-schema.ts';

/**
 * Makes the function that converts a value of a response to JSON, if it is not JSON yet. A Date becomes a text in the
 * schema's format (date-time by default), a bigint a text if the schema allows texts. An object with `toJSON` becomes
 * what that returns. All other values stay unchanged, and validation rejects those that do not fit.
 */
export function responseReader(schema: JsonSchema): (value: unknown) => unknown {
  const { format } = schema;
  const types = namedTypes(schema);
  const takesText = types.includes('string') || (types.length === 0 && format !== undefined);
  return (value) => {
    if (typeof value === 'bigint') return takesText ? String(value) : value;
    if (typeof value !== 'object' || value === null) return value;
    if (value instanceof Date) return takesText ? dateText(value, format) : value;
    const { toJSON } = value as { readonly toJSON?: unknown };
    return typeof toJSON === 'function' ? (toJSON.call(value) as unknown) : value;
  };
}

/** Writes a Date: a day and a time of day in the server's time zone, a moment in UTC. An invalid one stays a Date. */
function dateText(date: Date, format: unknown): Date | string {
  if (Number.isNaN(date.getTime())) return date;
  if (format !== 'date' && format !== 'time') return date.toISOString();
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString();
  const [day, time] = local.split('T') as [string, string];
  return format === 'date' ? day : time.slice(0, 8);
}
