import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import { fieldPath } from '../fields/field-path.ts';
import { keyOfEntity, keyText } from '../fields/primary-key.ts';
import { metadataOf } from '../mikro/entities.ts';
import { forkWith, tenantsOf } from './tenant.ts';
import { ALL_TENANTS, fixedScope, scopeOf, type TenantKey } from './tenant-scope.ts';

/**
 * Returns the tenant of an entity manager as a text, to store it with work that is done later, such as an event or a
 * job. Pass the text to `forkForTenant` there. Null if the ORM has no `tenant()`, or the entity manager no tenant.
 *
 * @param record an entity that the work is about. Its tenant is returned, also if the entity manager works for all
 * @example
 * app.get('/report', async (request) => ({ tenant: keepTenant(request.em) }));   // {"tenant":"7"}
 */
export function keepTenant(em: EntityManager, record?: object): string | null {
  const registered = tenantsOf(em);
  if (registered === undefined) return null;
  const tenant = (record === undefined ? undefined : tenantOfRecord(em, record)) ?? scopeOf(em)?.tenant();
  return tenant === undefined ? null : encode(tenant);
}

/**
 * Forks an entity manager for the tenant of a text that `keepTenant` returned. For null, the fork has no tenant: its
 * queries of the entities of `tenant()` throw ImproperlyConfigured. In an ORM without `tenant()` it is a plain fork.
 *
 * @example
 * const count = await forkForTenant(orm.em, '7').count(Product);   // the products of tenant 7
 */
export function forkForTenant<Manager extends EntityManager>(em: Manager, kept: string | null): Manager {
  if (kept === null || tenantsOf(em) === undefined) return em.fork();
  return forkWith(em, fixedScope(decode(kept)));
}

/**
 * Returns the name of the property that has the tenant of an entity's records, for programs that make records. Undefined
 * for entities that tenants share, and in an ORM without `tenant()`.
 *
 * @example
 * const name = tenantProperty(orm.em, orm.getMetadata(Product));   // 'company'
 */
export function tenantProperty(em: EntityManager, meta: Pick<EntityMetadata, 'class'>): string | undefined {
  return tenantsOf(em)?.entities().propertyOf(meta);
}

/**
 * Forks an entity manager for the records of every tenant, in code that does not know the `tenant()` of the ORM. In an
 * ORM without `tenant()` it is a plain fork.
 *
 * @example
 * const count = await forkForAllTenants(orm.em).count(Product);   // the products of all tenants
 */
export function forkForAllTenants<Manager extends EntityManager>(em: Manager): Manager {
  return forkForTenant(em, encode(ALL_TENANTS));
}

/** Returns the tenant of a text as plain JSON. Null for none, and for all tenants. */
export function keptKey(kept: string | null): string | number | null {
  const tenant = kept === null ? ALL_TENANTS : decode(kept);
  if (tenant === ALL_TENANTS) return null;
  return typeof tenant === 'number' ? tenant : keyText(tenant);
}

function tenantOfRecord(em: EntityManager, record: object): TenantKey | undefined {
  const meta = metadataOf(em, record);
  const name = tenantsOf(em)?.entities().propertyOf(meta);
  if (name === undefined) return undefined;
  return (keyOfEntity(record, fieldPath(meta, name, '.')) ?? undefined) as TenantKey | undefined;
}

function encode(tenant: TenantKey | typeof ALL_TENANTS): string {
  if (tenant === ALL_TENANTS) return 'true';
  if (typeof tenant === 'bigint') return JSON.stringify({ bigint: String(tenant) });
  return JSON.stringify(typeof tenant === 'object' ? tenant.toHexString() : tenant);
}

function decode(kept: string): TenantKey | typeof ALL_TENANTS {
  const value = JSON.parse(kept) as string | number | true | { readonly bigint: string };
  if (value === true) return ALL_TENANTS;
  return typeof value === 'object' ? BigInt(value.bigint) : value;
}
