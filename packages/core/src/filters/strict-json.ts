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
    throw new StrictJsonError('must be JSON, but could not be parsed');
  }
  if (countMembers(value) !== countColons(text)) throw new StrictJsonError('has an object with the same key twice');
  return value;
}

/** Thrown for what `parseStrictJson` refuses; the message completes "the parameter …". */
export class StrictJsonError extends Error {
  override readonly name = 'StrictJsonError';
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

/** Counts the members that were written: every colon outside a string, in a text that is known to be JSON. */
function countColons(text: string): number {
  let colons = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (inString && character === '\\') index++;
    else if (character === '"') inString = !inString;
    else if (!inString && character === ':') colons++;
  }
  return colons;
}
