/** The further scripts of the page, each loaded when something needs it: `qr` makes QR codes, and `live` follows lists. */
const LATER_SCRIPTS = ['qr', 'live'] as const;

export type LaterScript = (typeof LATER_SCRIPTS)[number];

/** Returns something for each of them, by its name. */
export function eachLater<Value>(make: (name: LaterScript) => Value): Readonly<Record<LaterScript, Value>> {
  return Object.fromEntries(LATER_SCRIPTS.map((name) => [name, make(name)])) as Record<LaterScript, Value>;
}
