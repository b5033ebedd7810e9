/** One step of a JSON pointer, escaped (RFC 6901, section 3). */
export function pointerStep(key: string | number): string {
  return `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** Reports whether a value is a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reports whether a value is no JSON, so that `JSON.stringify` leaves a property with it out. */
export function isOmitted(value: unknown): boolean {
  return value === undefined || typeof value === 'function' || typeof value === 'symbol';
}

/** Reports whether an object has no properties. */
export function isEmpty(record: object): boolean {
  for (const name in record) if (Object.hasOwn(record, name)) return false;
  return true;
}

/** Reports whether a value is a plain object: not a Map, a Date or an object that inherits from another one. */
export function isPlainRecord(value: unknown): value is Record<string, unknown> {
  if (!isRecord(value) || Object.getOwnPropertySymbols(value).length > 0) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Describes why databases cannot store a text: a NUL character, a lone surrogate. Undefined for any other text. */
export function textProblem(text: string): string | undefined {
  if (text.includes('\0')) return 'must not contain a NUL character';
  return text.isWellFormed() ? undefined : 'must be well-formed Unicode';
}
