/** Keeps values by what they were made of: a Map, a WeakMap, or a map of its own kind. */
interface Kept<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/** Returns the value that is kept of a key. The first time it is made, and kept. */
export function getOrMake<Key, Value>(kept: Kept<Key, Value>, key: Key, make: () => Value): Value {
  let value = kept.get(key);
  if (value === undefined) kept.set(key, (value = make()));
  return value;
}
