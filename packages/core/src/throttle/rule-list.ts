import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Awaitable, isPromise, isYes, whenAllReady, whenReady } from '../awaitable.ts';
import { TooManyRequests } from '../errors.ts';
import type { CountedRule, Standing } from './counted-rule.ts';
import type { RateLimitPhase } from './rate-limit-rule.ts';
import { writeRateLimit, writtenResetSeconds } from './rate-limit-headers.ts';

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
   * One list of several, asked in their order: a request that a rule of one refuses costs the rules of the others
   * nothing either.
   */
  static combine(lists: readonly RuleList[]): RuleList {
    return new RuleList(lists.flatMap((list) => list.#rules));
  }

  /** Whether there is anything to ask in a phase. */
  has(phase: RateLimitPhase): boolean {
    return this.#byPhase[phase].length > 0;
  }

  /**
   * Counts a request by the rules of a phase and writes the `RateLimit-*` headers. Throws TooManyRequests where a rule
   * refuses, and ServiceUnavailable where the store of one that fails closed is down. No promise where no store needs
   * one.
   */
  check(phase: RateLimitPhase, request: FastifyRequest, reply: FastifyReply): void | Promise<void> {
    const rules = this.#byPhase[phase];
    if (rules.length === 0) return;
    const standing = ask(rules, 0, [], request);
    if (isPromise(standing)) return standing.then((known) => enforce(known, reply));
    enforce(standing, reply);
  }

  /**
   * Counts a request by all rules, and answers whether it may pass. Writes no headers; for use where `check` does not
   * fit.
   */
  throttleRate(request: FastifyRequest): boolean | Promise<boolean> {
    return whenReady(
      ask(this.#rules, 0, [], request),
      (standing) => standing === undefined || isYes(standing.result.allowed),
    );
  }
}

/** Asks rule after rule; answers with the standing that refuses, else with that closest to its limit. */
function ask(
  rules: readonly CountedRule[],
  place: number,
  passed: readonly Standing[],
  request: FastifyRequest,
): Awaitable<Standing | undefined> {
  const rule = rules[place];
  if (rule === undefined) return closest(passed);
  return whenReady(rule.hit(request), (standing) => {
    if (standing === undefined) return ask(rules, place + 1, passed, request);
    if (!isYes(standing.result.allowed)) return refuse(standing, passed, rules.slice(place + 1), request);
    return ask(rules, place + 1, [...passed, standing], request);
  });
}

/**
 * Takes back what the rules before have counted, and looks at the rules after: the client is told the longest wait, so
 * that it is not refused again by the next rule when it has waited for this one.
 */
function refuse(
  refusing: Standing,
  passed: readonly Standing[],
  unasked: readonly CountedRule[],
  request: FastifyRequest,
): Awaitable<Standing> {
  const undone = passed.map((standing) => standing.counted.undo(standing));
  const peeked = unasked.map((rule) => rule.peek(request));
  return whenReady(whenAllReady<Standing | undefined>([...undone, ...peeked]), (standings) => {
    let longest = refusing;
    for (const standing of standings) {
      if (standing !== undefined && standing.result.retryAfterMs > longest.result.retryAfterMs) longest = standing;
    }
    return longest;
  });
}

function closest(standings: readonly Standing[]): Standing | undefined {
  let least: Standing | undefined;
  for (const standing of standings) {
    const difference = least === undefined ? -1 : standing.result.remaining - least.result.remaining;
    if (difference < 0 || (difference === 0 && standing.result.resetMs > least!.result.resetMs)) least = standing;
  }
  return least;
}

function enforce(standing: Standing | undefined, reply: FastifyReply): void {
  if (standing === undefined) return;
  writeRateLimit(reply, standing);
  if (!isYes(standing.result.allowed)) throw new TooManyRequests(writtenResetSeconds(reply));
}
