import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import { type Awaitable, isYes, whenReady } from '../support/awaitable.ts';
import { ImproperlyConfigured, TooManyRequests } from '../errors/errors.ts';
import { LineLimit } from '../support/line-limit.ts';
import { checkOptionNames, wrongOption } from '../errors/options.ts';
import type { Store } from '../stores/store.ts';
import { CountedRule, type ReportUncounted, type RuleState } from './counted-rule.ts';
import { type RateLimitPhase, RateLimitRule } from './rate-limit-rule.ts';

/** The rules of a limiter, and the store in which they count. */
export interface RequestLimiterOptions {
  readonly rules: readonly RateLimitRule[];
  /** The store of the rules that set no `store`. */
  readonly store: Store;
  /** Gets warnings about stores that are down. */
  readonly log: Pick<FastifyBaseLogger, 'warn'>;
  /** Separates the counters of these rules from other limiters on the same store. The same in every process. Default: `app`. */
  readonly scope?: string;
}

const OPTION_NAMES: readonly (keyof RequestLimiterOptions)[] = ['rules', 'store', 'log', 'scope'];
/** The time between two log lines about requests that pass uncounted, in milliseconds. */
const REPORT_INTERVAL_MS = 10_000;
const PHASES: readonly RateLimitPhase[] = ['address', 'user'];

const LIMIT = 'ratelimit-limit';
const REMAINING = 'ratelimit-remaining';
const RESET = 'ratelimit-reset';

/** Rules that must all allow a request, in their order. */
export class RuleList {
  readonly #rules: readonly CountedRule[];
  readonly #byPhase: Readonly<Record<RateLimitPhase, readonly CountedRule[]>>;

  constructor(rules: readonly CountedRule[]) {
    this.#rules = rules;
    const ofPhase = (phase: RateLimitPhase): readonly CountedRule[] => rules.filter(({ rule }) => rule.phase === phase);
    this.#byPhase = { address: ofPhase('address'), user: ofPhase('user') };
  }

  /**
   * Joins lists into one, in their order, with each rule once. If a rule of one list refuses a request, the rules of
   * the other lists do not count it.
   */
  static combine(lists: readonly RuleList[]): RuleList {
    return new RuleList([...new Set(lists.flatMap((list) => list.#rules))]);
  }

  /** Returns a list without the rules of another list. */
  except(other: RuleList): RuleList {
    return new RuleList(this.#rules.filter((rule) => !other.#rules.includes(rule)));
  }

  get isEmpty(): boolean {
    return this.#rules.length === 0;
  }

  /** Reports whether a phase has any rules. */
  has(phase: RateLimitPhase): boolean {
    return this.#byPhase[phase].length > 0;
  }

  includes(rule: RateLimitRule): boolean {
    return this.#rules.some((counted) => counted.rule === rule);
  }

  /**
   * Counts a request by the rules of a phase and writes the `RateLimit-*` headers. Throws TooManyRequests if a rule
   * refuses, and ServiceUnavailable if a rule fails closed and its store is down. It is synchronous if no rule refuses
   * and no store returns a promise.
   */
  check(phase: RateLimitPhase, request: FastifyRequest, reply: FastifyReply): void | Promise<void> {
    if (!this.has(phase)) return;
    return whenReady(ask(this.#byPhase[phase], 0, [], request), (state) => enforce(state, reply));
  }

  /**
   * Counts a request by all rules, and returns whether it may pass. Writes no headers. Use it if `check` does not fit.
   */
  throttleRate(request: FastifyRequest): boolean | Promise<boolean> {
    return whenReady(ask(this.#rules, 0, [], request), (state) => state === undefined || isYes(state.result.allowed));
  }
}

/**
 * Checks requests by a list of rules, which must all allow them. No two rules share a counter. If one rule refuses a request, the other
 * rules of the same phase do not count it.
 *
 * Throws ImproperlyConfigured if `rules` has something that is not a rule, or two rules with one name.
 *
 * @example
 * const limiter = new RequestLimiter({ rules: [new IPRateLimit(100, 60)], store, log: app.log });
 * app.addHook('onRequest', async (request, reply) => limiter.check('address', request, reply));
 */
export class RequestLimiter extends RuleList {
  constructor(options: RequestLimiterOptions) {
    super(countedRules(options));
  }
}

function countedRules(options: RequestLimiterOptions): CountedRule[] {
  checkOptionNames('RequestLimiter', options, OPTION_NAMES);
  const { rules, store, log, scope = 'app' } = options;
  if (!Array.isArray(rules)) throw wrongOption('RequestLimiter', 'rules', 'a list of rate limit rules', rules);
  if (typeof store?.hit !== 'function') throw wrongOption('RequestLimiter', 'store', 'a Store', store);
  const owner = `RequestLimiter of ${scope}`;
  const reportUncounted = makeUncountedReport(log);
  const names = new Set<string>();
  return rules.map((rule: unknown, index) => {
    if (!(rule instanceof RateLimitRule)) {
      throw wrongOption(owner, `rules[${index}]`, 'a rule such as new IPRateLimit(100, 60)', rule);
    }
    if (!PHASES.includes(rule.phase)) throw wrongOption(rule.label, 'phase', `one of ${PHASES.join(', ')}`, rule.phase);
    const name = rule.name ?? `${index} ${rule.label}`;
    if (names.has(name)) throw new ImproperlyConfigured(`${owner}: two rules are named "${name}"`);
    names.add(name);
    return new CountedRule(rule, `rate:${escapeColons(scope)}:${escapeColons(name)}:`, store, reportUncounted);
  });
}

/** Escapes a part of a key, so that different scopes and names never give the same key. */
function escapeColons(text: string): string {
  return text.replaceAll('%', '%25').replaceAll(':', '%3A');
}

/**
 * Logs that a store is down: the first time at once, then once per interval, with the number of requests that passed.
 */
function makeUncountedReport(log: RequestLimiterOptions['log']): ReportUncounted {
  const lines = new LineLimit(REPORT_INTERVAL_MS);
  return (rule, error) => {
    const withheld = lines.take();
    if (withheld === undefined) return;
    const err = (error as { cause?: unknown } | null)?.cause ?? error;
    log.warn({ err, rule, uncounted: withheld + 1 }, 'The throttle store does not answer: requests pass uncounted');
  };
}

/** Asks each rule in turn. Returns the state of the rule that refuses, else of the rule closest to its limit. */
function ask(
  rules: readonly CountedRule[],
  place: number,
  passed: readonly RuleState[],
  request: FastifyRequest,
): Awaitable<RuleState | undefined> {
  const rule = rules[place];
  if (rule === undefined) return closest(passed);
  return whenReady(rule.hit(request), (state) => {
    if (state === undefined) return ask(rules, place + 1, passed, request);
    if (!isYes(state.result.allowed)) return refuse(state, passed, rules.slice(place + 1), request);
    return ask(rules, place + 1, [...passed, state], request);
  });
}

/**
 * Takes back the hits of earlier rules, and peeks at the later rules. The client gets the longest wait, so that the
 * next rule does not refuse it after that time.
 */
async function refuse(
  refusing: RuleState,
  passed: readonly RuleState[],
  unasked: readonly CountedRule[],
  request: FastifyRequest,
): Promise<RuleState> {
  const undone = Promise.all(passed.map(async (state) => state.counted.undo(state)));
  const peeked = await Promise.all(unasked.map(async (rule) => rule.peek(request)));
  await undone;
  const states = [refusing, ...peeked.filter((state) => state !== undefined)];
  return states.reduce((longest, state) => (state.result.retryAfterMs > longest.result.retryAfterMs ? state : longest));
}

/** Finds the rule with the fewest requests remaining. Among equals, the one with the longest wait. */
function closest(states: readonly RuleState[]): RuleState | undefined {
  if (states.length < 2) return states[0];
  return states.toSorted(
    ({ result: one }, { result: other }) => one.remaining - other.remaining || other.resetMs - one.resetMs,
  )[0];
}

/**
 * Writes the `RateLimit-*` headers of a rule, unless the headers already show a rule closer to its limit. Throws if the
 * rule refuses.
 */
function enforce(state: RuleState | undefined, reply: FastifyReply): void {
  if (state === undefined) return;
  const { limit, result } = state;
  // Rounded up, so that the wait is long enough.
  const resetSeconds = Math.max(1, Math.ceil(result.resetMs / 1000));
  const fewer = Number(reply.getHeader(REMAINING) ?? Infinity) - result.remaining;
  if (fewer > 0 || (fewer === 0 && resetSeconds > Number(reply.getHeader(RESET)))) {
    void reply.headers({ [LIMIT]: limit, [REMAINING]: result.remaining, [RESET]: resetSeconds });
  }
  // Use the wait from the headers. It is longer if this request used up the last unit of another rule.
  if (!isYes(result.allowed)) throw new TooManyRequests(Number(reply.getHeader(RESET)));
}
