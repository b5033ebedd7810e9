/** A time span. Its parts are added up. */
export interface Duration {
  readonly days?: number;
  readonly hours?: number;
  readonly minutes?: number;
  readonly seconds?: number;
  readonly milliseconds?: number;
}

const PARTS = { days: 86_400_000, hours: 3_600_000, minutes: 60_000, seconds: 1000, milliseconds: 1 } as const;

const RealDate = Date;
const realNow = performance.now.bind(performance);
/** Milliseconds by which all clocks of the process have been moved. */
let movedMs = 0;

/** `Date` with a later present. */
const MovedDate: DateConstructor = new Proxy(RealDate, {
  construct: (target, args: unknown[], newTarget) =>
    Reflect.construct(target, args.length === 0 ? [target.now() + movedMs] : args, newTarget) as Date,
  apply: (target) => new target(target.now() + movedMs).toString(),
  get: (target, name) =>
    name === 'now' ? () => target.now() + movedMs : (Reflect.get(target, name, target) as unknown),
});

/**
 * Moves the time of the process, as seen by `Date` and `performance.now`. Codes, tokens, sessions, throttles in memory,
 * cached users and everything else that uses these clocks grow older. Timers do not fire earlier. Redis and the
 * database's `now()` have their own clocks.
 *
 * @example
 * const clock = new Clock();
 * clock.advance({ minutes: 5 });
 * clock.reset();
 */
export class Clock {
  #addedMs = 0;

  /** Moves the time forward. */
  advance(duration: Duration): void {
    const ms = Object.entries(PARTS).reduce(
      (sum, [part, size]) => sum + (duration[part as keyof Duration] ?? 0) * size,
      0,
    );
    if (!(ms >= 0)) throw new RangeError('Clock.advance: time only moves forward');
    this.#move(ms);
  }

  /** Undoes the moves of this clock. A test application's `close()` calls it. */
  reset(): void {
    this.#move(-this.#addedMs);
  }

  #move(ms: number): void {
    this.#addedMs += ms;
    movedMs += ms;
    const isMoved = movedMs !== 0;
    globalThis.Date = isMoved ? MovedDate : RealDate;
    if (isMoved) performance.now = () => realNow() + movedMs;
    else Reflect.deleteProperty(performance, 'now');
  }
}
