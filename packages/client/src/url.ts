/** The key of a record. */
export type Key = string | number | bigint;

/** Tells a record's key from a query or a body. */
export function isKey(value: unknown): value is Key {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint';
}

/**
 * Encodes a key as a path segment.
 *
 * @throws TypeError for a key that would lead to another path: an empty one, `.` or `..`
 */
export function keySegment(key: unknown): string {
  if (!isKey(key) || /^\.{0,2}$/.test(String(key))) {
    throw new TypeError(`${JSON.stringify(key)} is no key of a record`);
  }
  return encodeURIComponent(String(key));
}

/**
 * Converts an action's name to its path, as the server does: `mostPopular` → `most-popular`, `HTMLPage` → `html-page`.
 */
export function kebabCase(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .replaceAll(/_+/g, '-')
    .toLowerCase();
}

/** The name and value pairs of a query string. */
export type QueryEntries = [name: string, text: string][];

/**
 * Converts parameters to the pairs of a query string, without those that are undefined or null.
 *
 * @param commas true: a list becomes one value, separated by commas; false: the parameter is repeated for each item
 * @throws TypeError for an empty list, and with `commas` for a list whose items contain commas
 */
export function queryEntries(parameters: object, commas: boolean): QueryEntries {
  return Object.entries(parameters).flatMap(([name, value]: [string, unknown]): QueryEntries => {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) return [[name, textOf(value)]];
    if (value.length === 0) throw new TypeError(`"${name}" is an empty list`);
    const texts = value.map(textOf);
    if (!commas) return texts.map((text) => [name, text]);
    const split = texts.find((text) => text.includes(','));
    if (split !== undefined) throw new TypeError(`"${name}" is a list, and "${split}" has a comma`);
    return [[name, texts.join(',')]];
  });
}

/** Converts a value to text. Values that are not strings, dates or bigints become JSON. */
export function textOf(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'string' || typeof value === 'bigint' ? String(value) : toJson(value);
}

/** Writes JSON with bigints as strings. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) => (typeof part === 'bigint' ? String(part) : part));
}
