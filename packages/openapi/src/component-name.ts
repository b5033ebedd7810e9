/**
 * Makes a component name from a wanted name. OpenAPI allows ASCII letters and digits, `.`, `_` and `-`. Accents are
 * removed, and so are characters of other scripts. If the name is taken, adds a number.
 */
export function componentName(wanted: string, isFree: (name: string) => boolean): string {
  const plain = wanted.normalize('NFKD').replaceAll(/[^\w.-]+/g, '');
  return freeName(plain === '' ? 'Part' : plain, isFree);
}

/** Returns the name if it is free, else the first free one with a number at the end, starting at 2. */
export function freeName(wanted: string, isFree: (name: string) => boolean): string {
  let name = wanted;
  for (let number = 2; !isFree(name); number++) name = `${wanted}${number}`;
  return name;
}
