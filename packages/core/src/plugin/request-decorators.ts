import type { EntityManager } from '@mikro-orm/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requireSync } from '../support/awaitable.ts';
import { keepToPrimary } from '../backends/source.ts';
import { asUser, type CurrentUser, USER_SOURCE } from '../http/current-user.ts';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { SAFE_METHODS } from '../http/methods.ts';
import { REQUEST_STATE, stateOf } from '../view/request/request-state.ts';
import { transactionalManager } from '../view/write/transaction.ts';
import type { ResolvedOptions, UserSource } from './options.ts';

/** A property of requests that is stored in the plugin's state of a request. */
interface Accessor<Value> {
  readonly getter: (this: FastifyRequest) => Value;
  readonly setter: (this: FastifyRequest, value: Value) => void;
}

/**
 * Adds `user`, `challenge`, `em`, `reader` and `readsPrimary` to requests. If requests already have a `user` or `em`,
 * it is never silently replaced. The options of that name decide.
 *
 * @throws ImproperlyConfigured for an existing `user` or `em`, unless its option is set
 */
export function decorateRequests(app: FastifyInstance, options: ResolvedOptions): void {
  app.decorateRequest(REQUEST_STATE, null);
  app.decorateRequest('challenge', {
    getter(this: FastifyRequest) {
      return stateOf(this).challenge;
    },
    setter(this: FastifyRequest, challenge) {
      stateOf(this).challenge = challenge;
    },
  });
  decorateUser(app, options.user);
  decorateEntityManager(app, options);
}

function decorateUser(app: FastifyInstance, source: ResolvedOptions['user']): void {
  const isTaken = app.hasRequestDecorator('user');
  if (isTaken && source === undefined) throw taken('user', '(request) => …, which answers with the user of a request');
  const getter = typeof source === 'function' ? userGetter(source) : keptUser;
  if (typeof source === 'function') app.decorateRequest(USER_SOURCE, { getter });
  if (isTaken && source !== 'own') return;
  decorate(app, 'user', {
    getter,
    setter(user) {
      stateOf(this).user = user;
    },
  });
}

/**
 * Adds an accessor to requests. If an outer scope already decorates them with that name, each request gets the accessor
 * separately. With `keeps`, the request keeps its value.
 */
function decorate<Name extends 'user' | 'em'>(
  app: FastifyInstance,
  name: Name,
  { getter, setter }: Accessor<FastifyRequest[Name]>,
  keeps = false,
): void {
  if (!app.hasRequestDecorator(name)) {
    app.decorateRequest(name, { getter: getter as never, setter: setter as never });
    return;
  }
  const property = { get: getter, set: setter, configurable: true, enumerable: true };
  app.addHook('onRequest', async (request) => {
    const known = keeps ? request[name] : undefined;
    Object.defineProperty(request, name, property);
    if (known !== undefined && known !== null) request[name] = known;
  });
}

function keptUser(this: FastifyRequest): CurrentUser | null {
  return stateOf(this).user;
}

function userGetter(source: UserSource): (this: FastifyRequest) => CurrentUser | null {
  return function userOf(this: FastifyRequest) {
    return asUser(requireSync(source(this), () => 'viewset: option "user"'));
  };
}

function decorateEntityManager(app: FastifyInstance, { orm, em: source }: ResolvedOptions): void {
  const isTaken = app.hasRequestDecorator('em');
  if (isTaken && source === undefined) throw taken('em', '"existing", if it is of the same MikroORM');
  if (!isTaken && source === 'existing') {
    throw new ImproperlyConfigured('viewset: option "em" is "existing", but requests have no "em" yet');
  }
  app.decorateRequest('reader', {
    getter(this: FastifyRequest) {
      return transactionalManager(orm) ?? stateOf(this).em ?? orm.em;
    },
  });
  // Decided by the method of the original request, because parts of its work may use GET.
  app.decorateRequest('readsPrimary', {
    getter(this: FastifyRequest) {
      return !SAFE_METHODS.has(this.raw.method ?? '');
    },
  });
  const accessor: Accessor<EntityManager> = {
    getter() {
      const em = transactionalManager(orm) ?? (stateOf(this).em ??= orm.em.fork());
      return this.readsPrimary ? keepToPrimary(em) : em;
    },
    setter(em) {
      if (source === 'own') return;
      if (em.getDriver() !== orm.em.getDriver()) {
        throw new ImproperlyConfigured(
          'viewset: request.em was set to an entity manager of another MikroORM; option "em" must be "own"',
        );
      }
      stateOf(this).em = em;
    },
  };
  decorate(app, 'em', accessor, source === 'existing');
}

function taken(name: 'user' | 'em', use: string): ImproperlyConfigured {
  return new ImproperlyConfigured(
    `viewset: this application's requests have a "${name}" already; set option "${name}" to say how views use it: ` +
      `${use}; or "own", if the views are to have one of their own`,
  );
}
