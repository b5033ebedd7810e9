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

/** The parameters of a query string. Several texts are the values of one list, separated by commas. */
export type QueryEntries = [name: string, texts: readonly string[]][];

/**
 * Converts parameters to the entries of a query string, without those that are undefined or null.
 *
 * @param commas true: a list becomes one entry; false: the parameter is repeated for each item
 * @throws TypeError for an empty list
 */
export function queryEntries(parameters: object, commas: boolean): QueryEntries {
  return Object.entries(parameters).flatMap(([name, value]: [string, unknown]): QueryEntries => {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) return [[name, [textOf(value)]]];
    if (value.length === 0) throw new TypeError(`"${name}" is an empty list`);
    const texts = value.map(textOf);
    return commas ? [[name, texts]] : texts.map((text) => [name, [text]]);
  });
}

/** Writes a query string, `?name=a,b`. A comma within a value is encoded, so it does not separate values. */
export function queryString(entries: QueryEntries): string {
  const written = entries.map(([name, texts]) => `${encoded(name)}=${texts.map(encoded).join(',')}`);
  return written.length === 0 ? '' : `?${written.join('&')}`;
}

/** Encodes a text as forms do, with `+` for spaces. Replaces malformed Unicode instead of throwing. */
function encoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
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
