/** Scripts that the page loads on demand: `qr` makes QR codes, and `live` follows lists. */
const LATER_SCRIPTS = ['qr', 'live'] as const;

export type LaterScript = (typeof LATER_SCRIPTS)[number];

/** Makes an object with one value for each script. */
export function eachLater<Value>(make: (name: LaterScript) => Value): Readonly<Record<LaterScript, Value>> {
  return Object.fromEntries(LATER_SCRIPTS.map((name) => [name, make(name)])) as Record<LaterScript, Value>;
}
