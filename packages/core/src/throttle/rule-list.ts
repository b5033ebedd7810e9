import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Awaitable, isPromise, isYes, whenAllReady, whenReady } from '../awaitable.ts';
import { TooManyRequests } from '../errors.ts';
import type { CountedRule, RuleState } from './counted-rule.ts';
import type { RateLimitPhase } from './rate-limit-rule.ts';

const LIMIT = 'ratelimit-limit';
const REMAINING = 'ratelimit-remaining';
const RESET = 'ratelimit-reset';

/** Rules that a request is held to together, in their order. */
export class RuleList {
  readonly #rules: readonly CountedRule[];
  readonly #byPhase: Readonly<Record<RateLimitPhase, readonly CountedRule[]>>;

  constructor(rules: readonly CountedRule[]) {
    this.#rules = rules;
    const ofPhase = (phase: RateLimitPhase): readonly CountedRule[] => rules.filter(({ rule }) => rule.phase === phase);
    this.#byPhase = { address: ofPhase('address'), user: ofPhase('user') };
  }

  /**
   * Makes one list of several, asked in their order: a request that a rule of one refuses costs the rules of the others
   * nothing either.
   */
  static combine(lists: readonly RuleList[]): RuleList {
    return new RuleList(lists.flatMap((list) => list.#rules));
  }

  /** Tells if there is anything to ask in a phase. */
  has(phase: RateLimitPhase): boolean {
    return this.#byPhase[phase].length > 0;
  }

  /**
   * Counts a request by the rules of a phase and writes the `RateLimit-*` headers. Throws TooManyRequests if a rule
   * refuses, and ServiceUnavailable if the store of one that fails closed is down. Makes no promise if no store needs one.
   */
  check(phase: RateLimitPhase, request: FastifyRequest, reply: FastifyReply): void | Promise<void> {
    const rules = this.#byPhase[phase];
    if (rules.length === 0) return;
    const state = ask(rules, 0, [], request);
    if (isPromise(state)) return state.then((known) => enforce(known, reply));
    enforce(state, reply);
  }

  /**
   * Counts a request by all rules, and answers whether it may pass. Writes no headers; for places that `check` does
   * not fit.
   */
  throttleRate(request: FastifyRequest): boolean | Promise<boolean> {
    return whenReady(ask(this.#rules, 0, [], request), (state) => state === undefined || isYes(state.result.allowed));
  }
}

/** Asks rule after rule; answers with the state of the rule that refuses, else of the rule closest to its limit. */
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
 * Takes back what the rules before have counted, and looks at the rules after: the client is told the longest wait, so
 * that it is not refused again by the next rule when it has waited for this one.
 */
function refuse(
  refusing: RuleState,
  passed: readonly RuleState[],
  unasked: readonly CountedRule[],
  request: FastifyRequest,
): Awaitable<RuleState> {
  const undone = passed.map((state) => state.counted.undo(state));
  const peeked = unasked.map((rule) => rule.peek(request));
  return whenReady(whenAllReady<RuleState | undefined>([...undone, ...peeked]), (states) => {
    let longest = refusing;
    for (const state of states) {
      if (state !== undefined && state.result.retryAfterMs > longest.result.retryAfterMs) longest = state;
    }
    return longest;
  });
}

function closest(states: readonly RuleState[]): RuleState | undefined {
  let least: RuleState | undefined;
  for (const state of states) {
    const difference = least === undefined ? -1 : state.result.remaining - least.result.remaining;
    if (difference < 0 || (difference === 0 && state.result.resetMs > least!.result.resetMs)) least = state;
  }
  return least;
}

function enforce(state: RuleState | undefined, reply: FastifyReply): void {
  if (state === undefined) return;
  writeRateLimit(reply, state);
  if (!isYes(state.result.allowed)) throw new TooManyRequests(writtenResetSeconds(reply));
}

/**
 * Writes the `RateLimit-*` headers of a rule, unless those of a rule closer to its limit stand there already: of one
 * with fewer requests remaining, or as few and a longer wait.
 */
function writeRateLimit(reply: FastifyReply, { counted, result }: RuleState): void {
  const resetSeconds = wholeSeconds(result.resetMs);
  const remaining = reply.getHeader(REMAINING);
  if (remaining !== undefined) {
    const difference = Number(remaining) - result.remaining;
    if (difference < 0 || (difference === 0 && Number(reply.getHeader(RESET)) >= resetSeconds)) return;
  }
  void reply.header(LIMIT, counted.rule.count);
  void reply.header(REMAINING, result.remaining);
  void reply.header(RESET, resetSeconds);
}

/**
 * Returns the seconds that a refused client has to wait: the value of `RateLimit-Reset`, so that the two agree. They are
 * longer than the refusing rule's own wait where this request used up the last unit of another.
 */
function writtenResetSeconds(reply: FastifyReply): number {
  return Number(reply.getHeader(RESET));
}

/** Rounds up: waiting that long is enough. */
function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}
