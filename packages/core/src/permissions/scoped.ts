import { type EntityMetadata, type EntityName, Utils } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { type Awaitable, whenReady } from '../support/awaitable.ts';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { declaredMetadata } from '../fields/declared-metadata.ts';
import type { Condition } from '../query/language/condition.ts';
import type { Lookups } from '../query/language/lookup-name.ts';
import { wrongOption } from '../errors/options.ts';
import { CHECK_ENTITY, Permission, type PermissionClass, type PermissionView } from './permission.ts';

/**
 * Makes a permission class with a scope: the view shows only records that match the lookups. All others are missing
 * from lists and give 404. It composes like any permission class.
 *
 * @param entity the entity of the views, or a class that their entities extend. A view of another entity fails at start
 * @param lookups returns the lookups for a request, as in `filterFields`. It may be async
 * @throws ImproperlyConfigured during a request, if the lookups are missing or have a wrong name
 * @example
 * const OwnProducts = scoped(Product, (request) => ({ owner__id: requireUser(request).id }));
 * class ProductViewSet extends ModelViewSet(Product, {
 *   read,
 *   permissionClasses: [IsAuthenticated, IsRoleAdminUser.or(OwnProducts)],
 * }) {}
 */
export function scoped<Entity extends object>(
  entity: EntityName<Entity>,
  lookups: (request: FastifyRequest) => Awaitable<Lookups<Entity>>,
): PermissionClass {
  if (typeof lookups !== 'function') throw wrongOption('scoped()', 'lookups', 'a function of the request', lookups);
  const name = `scoped(${Utils.className(entity)})`;
  class Scoped extends Permission {
    override scope(request: FastifyRequest, view: PermissionView): Awaitable<Condition> {
      return whenReady(lookups(request), (given) => this.records<Entity>(view, given as never));
    }

    override [CHECK_ENTITY](meta: EntityMetadata | undefined, owner: string): void {
      if (meta !== undefined && isOf(meta, entity)) return;
      throw new ImproperlyConfigured(`${owner}: ${name} stands at a view of ${meta?.className ?? 'no entity'}`);
    }
  }
  Object.defineProperty(Scoped, 'name', { value: name });
  return Scoped;
}

/** Reports whether an entity is the given entity, or extends it. */
function isOf(meta: EntityMetadata, entity: EntityName): boolean {
  const wanted: unknown = typeof entity === 'function' ? entity : declaredMetadata(entity).class;
  let each: unknown = meta.class;
  while (typeof each === 'function' && each !== wanted) each = Object.getPrototypeOf(each);
  return typeof each === 'function';
}
