/** One step of a JSON pointer, escaped (RFC 6901, section 3). */
export function pointerStep(key: string | number): string {
  return `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** Tells an object of JSON. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Tells an object without a property. */
export function isEmpty(record: object): boolean {
  for (const name in record) if (Object.hasOwn(record, name)) return false;
  return true;
}

/** Tells an object that keeps all it says in entries of its own by name: not a Map, a Date or what inherits from another object. */
export function isPlainRecord(value: unknown): value is Record<string, unknown> {
  if (!isRecord(value) || Object.getOwnPropertySymbols(value).length > 0) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Says what is wrong with a text that no database keeps: a NUL character, a lone surrogate. Undefined for any other text. */
export function textProblem(text: string): string | undefined {
  if (text.includes('\0')) return 'must not contain a NUL character';
  return text.isWellFormed() ? undefined : 'must be well-formed Unicode';
}
