/**
 * Makes the name of a component out of what it is to be called. OpenAPI allows letters and digits of ASCII, and `.`, `_` and
 * `-`: accents go, and what is left of other scripts. A name that is taken gets a number.
 */
export function componentName(wanted: string, isFree: (name: string) => boolean): string {
  const plain = wanted.normalize('NFKD').replaceAll(/[^\w.-]+/g, '');
  return freeName(plain === '' ? 'Part' : plain, isFree);
}

/** Returns a name if it is free, else the first that is with a number behind it, from 2. */
export function freeName(wanted: string, isFree: (name: string) => boolean): string {
  let name = wanted;
  for (let number = 2; !isFree(name); number++) name = `${wanted}${number}`;
  return name;
}
