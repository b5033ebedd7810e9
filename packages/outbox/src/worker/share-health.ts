/** How a share's latest deliveries went. `unknown`: this worker has delivered nothing to it yet. */
export type Health = 'healthy' | 'failing' | 'unknown';

/** A delivery that takes longer than this counts as failing until it ends, in milliseconds. */
const SLOW_MS = 1000;
/** The most shares of each kind that a worker remembers. The oldest one becomes unknown again. */
const MAX_SHARES = 1000;

/** A running delivery. */
export interface RunningDelivery {
  readonly share: string | null | undefined;
  /** In milliseconds since 1970. */
  readonly begunAt: number;
}

/**
 * Limits the places of shares that fail. A receiver that hangs takes its places for the complete time limit, so a few
 * of them would take all places.
 *
 * - Shares that fail take at most half of the places together.
 * - Shares that fail and unknown shares take at most three quarters of the places together. Unknown shares take a quarter
 *   even if healthy shares begin to hang.
 * - An unknown share takes one place, until its first delivery has ended.
 *
 * The worker remembers the latest result of each share, so a restart begins with unknown shares only.
 */
export class ShareHealth {
  readonly #maxFailing: number;
  readonly #maxUnproven: number;
  readonly #maxUnknown: number;
  /** By time of the result. */
  readonly #healthy = new Set<string>();
  readonly #failing = new Set<string>();

  constructor(places: number) {
    this.#maxFailing = Math.max(1, Math.floor(places / 2));
    this.#maxUnproven = Math.max(1, Math.floor((places * 3) / 4));
    this.#maxUnknown = Math.max(1, Math.floor(places / 4));
  }

  /** Notes the result of a delivery. */
  note(share: string, isSuccess: boolean): void {
    const [to, from] = isSuccess ? [this.#healthy, this.#failing] : [this.#failing, this.#healthy];
    from.delete(share);
    to.delete(share);
    to.add(share);
    if (to.size > MAX_SHARES) to.delete(to.values().next().value!);
  }

  /** Starts the choice of further deliveries, beside those that run. */
  choice(running: Iterable<RunningDelivery>): HealthChoice {
    return new HealthChoice(this.#healthy, this.#failing, {
      running: [...running],
      maxFailing: this.#maxFailing,
      maxUnproven: this.#maxUnproven,
      maxUnknown: this.#maxUnknown,
    });
  }
}

/** The limits of one choice of deliveries. */
interface ChoiceLimits {
  readonly running: readonly RunningDelivery[];
  readonly maxFailing: number;
  readonly maxUnproven: number;
  readonly maxUnknown: number;
}

/** Chooses deliveries within the limits of `ShareHealth`. */
export class HealthChoice {
  readonly #healthy: ReadonlySet<string>;
  readonly #failing: ReadonlySet<string>;
  readonly #limits: ChoiceLimits;
  readonly #slow: ReadonlySet<string>;
  /** Unknown shares with a place. */
  readonly #unknown = new Set<string>();
  #failingCount = 0;
  #unprovenCount = 0;

  constructor(healthy: ReadonlySet<string>, failing: ReadonlySet<string>, limits: ChoiceLimits) {
    this.#healthy = healthy;
    this.#failing = failing;
    this.#limits = limits;
    const slowBefore = Date.now() - SLOW_MS;
    const slow = limits.running.filter(({ begunAt }) => begunAt < slowBefore);
    this.#slow = new Set(slow.flatMap(({ share }) => share ?? []));
    for (const { share } of limits.running) if (typeof share === 'string') this.add(share);
  }

  /** Counts a delivery. */
  add(share: string): void {
    const health = this.#healthOf(share);
    if (health === 'failing') this.#failingCount++;
    if (health !== 'healthy') this.#unprovenCount++;
    if (this.#resultOf(share) === 'unknown') this.#unknown.add(share);
  }

  /** True if a further delivery of a share fits the limits. */
  fits(share: string): boolean {
    const health = this.#healthOf(share);
    if (health === 'healthy') return true;
    if (this.#unknown.has(share)) return false;
    return health === 'unknown' ? !this.#isUnknownFull : !this.#isFailingFull;
  }

  /** Shares whose events need not be read, because they do not fit. */
  get excluded(): readonly string[] {
    const failing = this.#isFailingFull ? this.#failing : [];
    return [...this.#unknown, ...this.#slow, ...failing].filter((share) => !this.fits(share));
  }

  /** The only shares whose events need to be read; undefined: all. */
  get only(): readonly string[] | undefined {
    if (!this.#isFailingFull || !this.#isUnknownFull) return undefined;
    return [...this.#healthy].filter((share) => !this.#slow.has(share));
  }

  get #isFailingFull(): boolean {
    return this.#failingCount >= this.#limits.maxFailing || this.#isUnprovenFull;
  }

  get #isUnknownFull(): boolean {
    return this.#unknown.size >= this.#limits.maxUnknown && this.#isUnprovenFull;
  }

  get #isUnprovenFull(): boolean {
    return this.#unprovenCount >= this.#limits.maxUnproven;
  }

  #healthOf(share: string): Health {
    return this.#slow.has(share) ? 'failing' : this.#resultOf(share);
  }

  #resultOf(share: string): Health {
    if (this.#healthy.has(share)) return 'healthy';
    return this.#failing.has(share) ? 'failing' : 'unknown';
  }
}
