import type { EntityName } from '@mikro-orm/core';
import { HasRole, type QuerySet, type ReadShape, readShape } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { noteEvent } from './noted-events.ts';
import { type ReadyViewClass, type ReadyViewOptions, viewClass } from './view-class.ts';

/** The options of `SessionViewSet`: those of ModelViewSet, and the name of the administrators' role. */
export interface SessionViewSetOptions<Entity extends object> extends ReadyViewOptions<Entity> {
  /** The name of the administrators' role. Default: `admin`. */
  readonly adminRole?: string;
}

/** A session in responses of `SessionViewSet`. `account` is the id of its account. */
export interface SessionRecord {
  readonly id: string;
  readonly account: number;
  readonly created_at: string;
  readonly last_used_at: string;
  readonly expires_at: string;
  readonly ip: string;
  readonly user_agent: string | null;
}

interface ReadyOptions<Entity extends object> {
  readonly read: ReadShape<Entity, SessionRecord>;
  readonly operations: readonly ['list', 'retrieve', 'destroy'];
  readonly bulk: { readonly destroy: number };
  readonly filterFields: { readonly account: 'account__id'; readonly ip: 'ip' };
  readonly orderingFields: { readonly last_used_at: 'last_used_at'; readonly created_at: 'created_at' };
}

/** The most sessions that one request ends. */
const MAX_ENDED = 100;

/**
 * Makes a view with which administrators list the live sessions of all accounts, and end them, one by one or up to 100 at once. Ended
 * sessions are refused from the next request on, in every process. Ending a session is a security event.
 *
 * The options of `ModelViewSet` replace those of the view. Extend the class to override hooks.
 *
 * @throws ImproperlyConfigured for a wrong option
 * @example
 * class Sessions extends SessionViewSet(Session) {}
 * router.register('sessions', Sessions);
 * // GET /sessions?account=7 → 200, the sessions of one account
 * // DELETE /sessions?pk=0b9…,f3c… → 204
 */
export function SessionViewSet<
  Entity extends object,
  const Options extends SessionViewSetOptions<Entity> = Record<never, never>,
>(
  entity: EntityName<Entity>,
  options?: Options,
): ReadyViewClass<Entity, ReadyOptions<Entity>, Omit<Options, 'adminRole'>> {
  const { adminRole = 'admin', ...rest } = options ?? ({} as Options);
  const anyEntity = entity as EntityName<object>;
  class ReadySessionViewSet extends viewClass(anyEntity, readyOptions(anyEntity, adminRole), rest) {
    override getQueryset(request: FastifyRequest): QuerySet<object> {
      return super.getQueryset(request).filter({ expires_at__gt: new Date() });
    }

    override async performDestroy(
      request: FastifyRequest,
      session: { readonly account: { readonly id: unknown } },
    ): Promise<void> {
      await super.performDestroy(request, session);
      const target = session.account.id;
      noteEvent(request, 'auth.session_ended', { target }, 'an administrator ended a session');
    }
  }
  return ReadySessionViewSet as never;
}

function readyOptions(entity: EntityName<object>, adminRole: string): object {
  const times = ['created_at', 'last_used_at', 'expires_at'];
  return {
    read: readShape(entity, ['id', ...times, 'ip', 'user_agent'] as never[], { account: 'account.id' } as never),
    operations: ['list', 'retrieve', 'destroy'],
    bulk: { destroy: MAX_ENDED },
    filterFields: { account: 'account__id', ip: 'ip' },
    orderingFields: { last_used_at: 'last_used_at', created_at: 'created_at' },
    ordering: ['-last_used_at'],
    permissionClasses: [HasRole(adminRole)],
    description: 'The sessions of all accounts; administrators end them.',
  };
}
