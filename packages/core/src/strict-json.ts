/** Thrown for what `parseStrictJson` refuses; the message completes "the parameter …". */
export class StrictJsonError extends Error {
  override readonly name = 'StrictJsonError';
  /** True for a text that is JSON all the same. */
  readonly isJson: boolean;

  constructor(message: string, isJson = true) {
    super(message);
    this.isJson = isJson;
  }
}

const STRING = /"(?:[^"\\]|\\.)*"/g;

/**
 * Parses JSON as `JSON.parse` does, and refuses besides what that swallows in silence: an object that has a key twice
 * (the first would vanish) and a number beyond what JavaScript holds (it would become Infinity).
 *
 * @throws StrictJsonError for what it refuses
 */
export function parseStrictJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new StrictJsonError('must be JSON, but could not be parsed', false);
  }
  // Every member that was written has a colon outside of a string.
  const written = text.replaceAll(STRING, '').split(':').length - 1;
  if (countMembers(value) !== written) throw new StrictJsonError('has an object with the same key twice');
  return value;
}

/** Counts the members of all objects that survived parsing. Not recursive: the nesting is the client's. */
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
