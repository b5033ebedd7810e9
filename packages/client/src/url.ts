/** A key of a record. */
export type Key = string | number | bigint;

/** Tells the key of a record from a query or a body. */
export function isKey(value: unknown): value is Key {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint';
}

/**
 * Writes a key as a segment of a path.
 *
 * @throws TypeError for a key that would lead to another path: nothing, a dot, two dots
 */
export function keySegment(key: unknown): string {
  if (!isKey(key) || /^\.{0,2}$/.test(String(key))) {
    throw new TypeError(`${JSON.stringify(key)} is no key of a record`);
  }
  return encodeURIComponent(String(key));
}

/** Makes the path of an action of its name, as the server does: `mostPopular` → `most-popular`, `HTMLPage` → `html-page`. */
export function kebabCase(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1-$2')
    .replaceAll(/_+/g, '-')
    .toLowerCase();
}

/** The pairs of names and texts of a query string. */
export type QueryEntries = [name: string, text: string][];

/**
 * Lists what a query string says of parameters; those that are undefined or null are left out.
 *
 * @param commas true: a list is one text, its items separated by commas; false: the parameter comes once for each item
 * @throws TypeError for a list that no text can say: an empty one, or one whose items have commas
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

/** Writes a value as a text: what is no text itself as JSON. */
export function textOf(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'string' || typeof value === 'bigint' ? String(value) : toJson(value);
}

/** Writes JSON, in which bigints are texts. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) => (typeof part === 'bigint' ? String(part) : part));
}
