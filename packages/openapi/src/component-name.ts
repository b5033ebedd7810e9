/**
 * Makes the name of a component out of what it is to be called. OpenAPI allows letters and digits of ASCII, and `.`, `_` and
 * `-`: accents go, and what is left of other scripts. A name that is taken gets a number.
 */
export function componentName(wanted: string, isFree: (name: string) => boolean): string {
  const plain = wanted.normalize('NFKD').replaceAll(/[^\w.-]+/g, '');
  const base = plain === '' ? 'Part' : plain;
  let name = base;
  for (let number = 2; !isFree(name); number++) name = `${base}${number}`;
  return name;
}
