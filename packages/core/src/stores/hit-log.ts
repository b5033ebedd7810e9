const INITIAL_CAPACITY = 1;
/** The bytes of an empty log with its array. */
const BASE_BYTES = 105;
const BYTES_PER_TIME = 8;

/** The times of the hits that still count, oldest first, in a ring buffer that doubles when it is full. */
export class HitLog {
  #times: number[] = [0];
  #first = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The approximate size of the log in memory, in bytes. */
  get bytes(): number {
    return BASE_BYTES + this.#times.length * BYTES_PER_TIME;
  }

  /** Returns the time of the hit at an index; 0 is the oldest. */
  at(place: number): number {
    return this.#times[(this.#first + place) % this.#times.length]!;
  }

  /** Drops the hits that are `windowMs` old or older. */
  forget(now: number, windowMs: number): void {
    while (this.#size > 0 && this.at(0) + windowMs <= now) {
      this.#first = (this.#first + 1) % this.#times.length;
      this.#size--;
    }
    if (this.#size === 0 && this.#times.length > INITIAL_CAPACITY) this.#resize(INITIAL_CAPACITY);
  }

  record(now: number): void {
    if (this.#size === this.#times.length) this.#resize(this.#size * 2);
    this.#times[(this.#first + this.#size) % this.#times.length] = now;
    this.#size++;
  }

  /** Removes the newest hit of exactly this time, if there is one. */
  remove(time: number): void {
    for (let place = this.#size - 1; place >= 0; place--) {
      if (this.at(place) !== time) continue;
      for (let later = place + 1; later < this.#size; later++) {
        this.#times[(this.#first + later - 1) % this.#times.length] = this.at(later);
      }
      this.#size--;
      return;
    }
  }

  #resize(capacity: number): void {
    this.#times = Array.from({ length: capacity }, (_, place) => (place < this.#size ? this.at(place) : 0));
    this.#first = 0;
  }
}
