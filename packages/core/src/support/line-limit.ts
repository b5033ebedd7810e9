/**
 * Limits the lines of a log: per interval one line for each key, and `maxKeys` lines in all. It counts the dropped
 * lines.
 *
 * @example
 * const limit = new LineLimit(1000, 100);
 * const withheld = limit.take(address);
 * if (withheld !== undefined) request.log.warn({ withheld }, 'refused');
 */
export class LineLimit {
  readonly #intervalMs: number;
  readonly #maxKeys: number;
  readonly #keys = new Set<string>();
  #intervalEndsAt = -Infinity;
  #withheld = 0;

  constructor(intervalMs: number, maxKeys = 1) {
    this.#intervalMs = intervalMs;
    this.#maxKeys = maxKeys;
  }

  /** Returns undefined if the line must be dropped, else the number of lines dropped since the last one. */
  take(key = ''): number | undefined {
    const now = performance.now();
    if (now >= this.#intervalEndsAt) {
      this.#keys.clear();
      this.#intervalEndsAt = now + this.#intervalMs;
    }
    if (this.#keys.has(key) || this.#keys.size >= this.#maxKeys) {
      this.#withheld += 1;
      return undefined;
    }
    this.#keys.add(key);
    const withheld = this.#withheld;
    this.#withheld = 0;
    return withheld;
  }
}
