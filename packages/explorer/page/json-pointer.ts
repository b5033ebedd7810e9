/** The steps of a place, as RFC 6901 writes it. */
export function stepsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The value at a place; undefined if there is none. */
export function valueAt(value: unknown, pointer: string): unknown {
  return stepsOf(pointer).reduce<unknown>(
    (node, step) => (node as Record<string, unknown> | undefined | null)?.[step],
    value,
  );
}
