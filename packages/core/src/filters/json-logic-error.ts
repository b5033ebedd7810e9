/** A rule that cannot be used: what was expected, what came, and a JSON pointer to where. */
export class JsonLogicError extends Error {
  override readonly name = 'JsonLogicError';

  /** @param at JSON pointer within the rule; @param came what stood there, where that helps */
  constructor(expected: string, at: string, ...came: [unknown?]) {
    const got = came.length === 0 ? '' : `, but ${describeJson(came[0])} came`;
    super(at === '' ? `${expected}${got}` : `${expected}${got}, at ${at}`);
  }
}

/** Characters of a client's text that a message repeats. */
const MAX_ECHO = 64;

function describeJson(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'string') return JSON.stringify(shorten(value));
  if (typeof value === 'object' && value !== null) return describeKeys(Object.keys(value));
  return String(value);
}

function describeKeys(keys: readonly string[]): string {
  const shown = keys.slice(0, 3).map((key) => JSON.stringify(shorten(key)));
  return keys.length === 0 ? 'an empty object' : `an object with ${shown.join(', ')}${keys.length > 3 ? ', …' : ''}`;
}

function shorten(text: string): string {
  return text.length > MAX_ECHO ? `${text.slice(0, MAX_ECHO)}…` : text;
}
