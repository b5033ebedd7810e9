import type { FastifyBaseLogger } from 'fastify';
import { ImproperlyConfigured } from '../errors.ts';
import { LineLimit } from '../line-limit.ts';
import { checkOptionNames, wrongOption } from '../options.ts';
import type { Store } from '../stores/store.ts';
import { CountedRule, type ReportUncounted } from './counted-rule.ts';
import { type RateLimitPhase, RateLimitRule } from './rate-limit-rule.ts';
import { RuleList } from './rule-list.ts';

/** The rules of a limiter, and the store in which they count. */
export interface RequestLimiterOptions {
  readonly rules: readonly RateLimitRule[];
  /** The store of the rules that have none of their own. */
  readonly store: Store;
  /** Hears of stores that are down. */
  readonly log: Pick<FastifyBaseLogger, 'warn'>;
  /**
   * Sets the counters of these rules apart from those of any other limiter on the same store; the same in every
   * process. Default: `app`.
   */
  readonly scope?: string;
}

const OPTION_NAMES: readonly (keyof RequestLimiterOptions)[] = ['rules', 'store', 'log', 'scope'];
/** The time between two lines in the log about requests that pass uncounted, in milliseconds. */
const REPORT_INTERVAL_MS = 10_000;
const PHASES: readonly RateLimitPhase[] = ['address', 'user'];

/**
 * Holds requests to a list of rules, all of which must agree. No two rules share a counter, and a request that one rule
 * refuses costs the others of the same phase nothing.
 *
 * Throws ImproperlyConfigured for something in `rules` that is no rule, and for two rules of one name.
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
  const reportUncounted = uncountedReport(log);
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

/** Escapes a part of a key, so that no scope and name read like another scope and name. */
function escapeColons(text: string): string {
  return text.replaceAll('%', '%25').replaceAll(':', '%3A');
}

/** Tells the log that a store is down: the first time at once, then once an interval, with how many passed since. */
function uncountedReport(log: RequestLimiterOptions['log']): ReportUncounted {
  const lines = new LineLimit(REPORT_INTERVAL_MS);
  return (rule, error) => {
    const withheld = lines.take();
    if (withheld === undefined) return;
    const err = (error as { cause?: unknown } | null)?.cause ?? error;
    log.warn({ err, rule, uncounted: withheld + 1 }, 'The throttle store does not answer: requests pass uncounted');
  };
}
