import type { EntityName } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { ALL_TENANTS, TenantKey } from './tenant-scope.ts';

/** The options of `tenant()`. */
export interface TenantOptions {
  /**
   * The entities whose records belong to tenants, by the property that has the tenant: a column, or a relation to the
   * entity of tenants. `id: [Company]` lists that entity itself.
   */
  readonly entities: Readonly<Record<string, readonly EntityName[]>>;
  /**
   * Returns the tenant of a request. Undefined or null: the request reads no records and writes none. `ALL_TENANTS`:
   * the records of every tenant, for administrators. It is called whenever a query needs it, so it must be fast.
   */
  readonly of: (request: FastifyRequest) => TenantKey | typeof ALL_TENANTS | null | undefined;
  /**
   * Entities without a tenant that refer to entities of tenants, or have a property of the same name. Every request may
   * see their records. Default: none.
   */
  readonly shared?: readonly EntityName[];
}
