import type { EntityManager } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { permissionDenied } from '../http/current-user.ts';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { keyText } from '../fields/primary-key.ts';
import { describe } from '../errors/options.ts';

/** The name of the MikroORM filter of `tenant()`. */
export const TENANT_FILTER = 'tenant';

/** Stands for the records of every tenant. Only code can name it, so no text of a client means it. */
export const ALL_TENANTS: unique symbol = Symbol('viewset.allTenants');

/** The longest text that is a tenant, in UTF-16 code units. */
const MAX_LENGTH = 200;

/** The key of a tenant: a whole number, a text of at most 200 characters, or an `ObjectId`. */
export type TenantKey = string | number | bigint | { toHexString(): string };

/** Decides which tenant an entity manager works for. Forks of the entity manager inherit it. */
export interface TenantScope {
  /** Returns undefined if there is no tenant. Then nothing is read, and nothing can be written. */
  readonly tenant: () => TenantKey | typeof ALL_TENANTS | undefined;
  /** Makes the error of a write without a tenant. */
  readonly refusal: () => Error;
  /** The scope that the entity manager had before a request within its transaction. */
  readonly outer?: TenantScope;
}

/** Returns the scope of an entity manager. Undefined if nobody has set one. */
export function scopeOf(em: EntityManager): TenantScope | undefined {
  const scope = em.getFilterParams(TENANT_FILTER) as Partial<TenantScope> | undefined;
  return typeof scope?.tenant === 'function' ? (scope as TenantScope) : undefined;
}

/** Sets the scope of an entity manager. */
export function setScope(em: EntityManager, scope: TenantScope): void {
  em.setFilterParams(TENANT_FILTER, { ...scope });
}

/** Makes the scope of one tenant, or of all. */
export function fixedScope(tenant: TenantKey | typeof ALL_TENANTS): TenantScope {
  return { tenant: () => tenant, refusal: () => new ImproperlyConfigured('tenant(): there is no tenant') };
}

/**
 * Makes the scope of a request. The tenant is found when it is needed, because the user is known later than the entity
 * manager. Once it is known, it must not change: the entity manager keeps the records that it has read.
 */
export function requestScope(
  request: FastifyRequest,
  of: (request: FastifyRequest) => TenantKey | typeof ALL_TENANTS | null | undefined,
): TenantScope {
  let known: TenantKey | typeof ALL_TENANTS | undefined;
  return {
    tenant: () => {
      const found: TenantKey | typeof ALL_TENANTS | undefined = of(request) ?? undefined;
      if (found !== undefined) checkTenant('of() of tenant()', found);
      if (known !== undefined && !isSameTenant(known, found)) {
        throw new ImproperlyConfigured(
          'tenant(): the tenant of a request must not change, but "of" returned another one',
        );
      }
      known = found;
      return found;
    },
    refusal: () => permissionDenied(request),
  };
}

/**
 * Makes the scope of a request whose entity manager has a scope already: it is in the transaction of an outer request,
 * or of the application.
 *
 * @throws ImproperlyConfigured when it is used, if the two have different tenants
 */
export function innerScope(current: TenantScope, inner: TenantScope): TenantScope {
  const outer = current.outer ?? current;
  return {
    ...inner,
    outer,
    tenant: () => {
      const found = inner.tenant();
      if (isSameTenant(outer.tenant(), found)) return found;
      throw new ImproperlyConfigured('tenant(): a request runs in the transaction of another tenant');
    },
  };
}

/** @throws ImproperlyConfigured for a value that no tenant can have */
export function checkTenant(owner: string, tenant: unknown): asserts tenant is TenantKey | typeof ALL_TENANTS {
  if (tenant === ALL_TENANTS || isKey(tenant)) return;
  throw new ImproperlyConfigured(
    `${owner}: a tenant must be a text of 1 to 200 characters, a whole number, an ObjectId or ALL_TENANTS, but got ${describe(tenant)}`,
  );
}

function isKey(value: unknown): value is TenantKey {
  if (typeof value === 'string') return value !== '' && value.length <= MAX_LENGTH;
  if (typeof value === 'number') return Number.isSafeInteger(value);
  return typeof value === 'bigint' || typeof (value as { toHexString?: unknown } | null)?.toHexString === 'function';
}

/** Reports whether two values name the same tenant. Databases and tokens may have a number as a text. */
export function isSameTenant(one: unknown, other: unknown): boolean {
  if (typeof one === 'symbol' || typeof other === 'symbol') return one === other;
  return one !== undefined && other !== undefined ? keyText(one) === keyText(other) : one === other;
}

/** Makes the error of an entity manager without a scope. */
export function noScope(entity: string): ImproperlyConfigured {
  return new ImproperlyConfigured(
    `the filter "${TENANT_FILTER}" of ${entity} has no tenant: in a request, use request.em, and register the plugin of tenant() ` +
      'before the routers; in a job, a script or a test, use an entity manager of its fork(em, tenant)',
  );
}
