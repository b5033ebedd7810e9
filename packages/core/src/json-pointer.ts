/** One step of a JSON pointer, escaped (RFC 6901, section 3). */
export function pointerStep(key: string | number): string {
  return `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** The JSON pointer to the value that the keys lead to; the empty string, the whole document, for none. */
export function jsonPointer(keys: readonly (string | number)[]): string {
  return keys.map(pointerStep).join('');
}
