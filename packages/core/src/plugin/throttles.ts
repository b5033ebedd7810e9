import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HookHandlerDoneFunction,
  RouteOptions,
} from 'fastify';
import { isYes, runHook } from '../awaitable.ts';
import { TooManyRequests } from '../errors.ts';
import { MemoryStore } from '../stores/memory-store.ts';
import { RequestLimiter } from '../throttle/request-limiter.ts';
import { RuleList } from '../throttle/rule-list.ts';
import type { RuleListFactory } from '../operations/plan-view.ts';
import type { ResolvedOptions } from './options.ts';

/** The throttles of an application. */
export interface Throttles {
  /** Makes the rules of one route of a view, under scopes that are the same in every process. */
  readonly makeRules: RuleListFactory;
  /** The rules on addresses, asked before authentication. */
  readonly address: AddressThrottle;
}

/**
 * Has an application ask the rules on users after authentication; those on addresses are for its first hook. A route is
 * held to the application's rules and its view's together. If there are no rules of a kind, nothing is asked.
 */
export function addThrottles(app: FastifyInstance, options: ResolvedOptions): Throttles {
  const store = options.store ?? ownStore(app);
  const common = new RequestLimiter({ rules: options.throttles, store, log: app.log });
  const address = new AddressThrottle(common);
  app.addHook('onRoute', (route) => addUserThrottle(route, common, options.throttleRate));
  const limiters = new Map<string, RequestLimiter>();
  const makeRules: RuleListFactory = (declared) => {
    const own = declared
      .filter(({ rules }) => rules.length > 0)
      .map(({ scope, rules }) => {
        const limiter = limiters.get(scope) ?? new RequestLimiter({ scope, rules, store, log: app.log });
        limiters.set(scope, limiter);
        return limiter;
      });
    const list = own.length === 0 ? common : RuleList.combine([common, ...own]);
    address.learn(list);
    return list;
  };
  return { makeRules, address };
}

function ownStore(app: FastifyInstance): MemoryStore {
  const store = new MemoryStore();
  app.addHook('onClose', async () => store.close());
  return store;
}

/** Counts requests by their addresses, by the rules of their route. */
export class AddressThrottle {
  readonly #common: RuleList;
  #isAsked: boolean;

  constructor(common: RuleList) {
    this.#common = common;
    this.#isAsked = common.has('address');
  }

  /** Tells if any route has such rules. */
  get isAsked(): boolean {
    return this.#isAsked;
  }

  learn(rules: RuleList): void {
    this.#isAsked ||= rules.has('address');
  }

  ask(config: FastifyContextConfig, request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void {
    if (request.is404) return done();
    runHook(() => (config.viewset?.rules ?? this.#common).check('address', request, reply), done);
  }
}

function addUserThrottle(route: RouteOptions, common: RuleList, throttleRate: ResolvedOptions['throttleRate']): void {
  const rules = route.config?.viewset?.rules ?? common;
  if (route.config?.throttle === false || (!rules.has('user') && throttleRate === undefined)) return;
  const own = route.onRequest === undefined ? [] : [route.onRequest].flat();
  const throttle = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    await rules.check('user', request, reply);
    if (throttleRate !== undefined && !isYes(await throttleRate(request))) throw new TooManyRequests(1);
  };
  route.onRequest = [throttle, ...own];
}
