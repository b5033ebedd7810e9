import { withSentDigits } from './rounded-numbers.ts';

/** Thrown for JSON that `parseStrictJson` rejects; the message completes "the parameter …". */
export class StrictJsonError extends Error {
  override readonly name = 'StrictJsonError';
  /** True if the text is valid JSON otherwise. */
  readonly isJson: boolean;

  constructor(message: string, isJson = true) {
    super(message);
    this.isJson = isJson;
  }
}

const STRING = /"(?:[^"\\]|\\.)*"/g;

/**
 * Parses JSON like `JSON.parse`, and also rejects two things that `JSON.parse` accepts silently: an object with a
 * duplicate key (the first would vanish) and a number that JavaScript cannot hold (it would become Infinity). The digits
 * of numbers that JavaScript rounds are kept, see `roundedIn`.
 *
 * @throws StrictJsonError for rejected JSON
 */
export function parseStrictJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new StrictJsonError('must be JSON, but could not be parsed', false);
  }
  // Every member in the text has a colon outside of a string.
  const written = text.replaceAll(STRING, '').split(':').length - 1;
  if (countMembers(value) !== written) throw new StrictJsonError('has an object with the same key twice');
  return withSentDigits(text, value);
}

/** Counts the members of all parsed objects. Not recursive, because the client controls the nesting. */
function countMembers(root: unknown): number {
  let members = 0;
  const pending: unknown[] = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    if (value === Infinity || value === -Infinity) throw new StrictJsonError('has a number that is too large');
    if (typeof value !== 'object' || value === null) continue;
    const children = Object.values(value);
    if (!Array.isArray(value)) members += children.length;
    for (const child of children) pending.push(child);
  }
  return members;
}
