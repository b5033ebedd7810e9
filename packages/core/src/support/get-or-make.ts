/** A map that keeps values, such as a Map, a WeakMap or an LruMap. */
interface Kept<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/** Returns the value of a key. If the map has none, makes one and keeps it. */
export function getOrMake<Key, Value>(kept: Kept<Key, Value>, key: Key, make: () => Value): Value {
  let value = kept.get(key);
  if (value === undefined) kept.set(key, (value = make()));
  return value;
}
