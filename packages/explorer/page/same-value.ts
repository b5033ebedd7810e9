/** Tells if two values of a form are the same to the API. A file is the same as itself alone. */
export function isSame(value: unknown, other: unknown): boolean {
  return value === other || (!(value instanceof File) && JSON.stringify(value) === JSON.stringify(other));
}
