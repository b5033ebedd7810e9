/** A map of bounded size. It drops the least recently used entry. */
export class LruMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    // Until the map is full, nothing is dropped and the order does not matter.
    if (value !== undefined && this.#entries.size === this.#limit) this.set(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#limit) return;
    const [oldest] = this.#entries.keys();
    this.#entries.delete(oldest as Key);
  }
}
