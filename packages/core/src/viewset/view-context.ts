import type { MikroORM } from '@mikro-orm/core';
import type { FilterClass } from '../filters/filter.ts';
import type { PaginatorClass } from '../pagination/paginator.ts';
import type { PermissionClass } from '../permissions/permission.ts';

/** What the plugin's options settle for every view that does not say otherwise. */
export interface ViewDefaults {
  readonly permissionClasses: readonly PermissionClass[];
  readonly filters: readonly FilterClass[];
  readonly pagination: PaginatorClass | null;
  readonly ignoreUnknownParameters: boolean | readonly string[];
  /** Signs cursors; undefined where the application gave none. */
  readonly secret: string | undefined;
}

/** Where a view is mounted, and in which application. */
export interface ViewContext {
  readonly orm: MikroORM;
  readonly defaults: ViewDefaults;
  /** Path of the collection, `/api/products`. */
  readonly path: string;
  /** Whether Fastify's router takes `/products/` for `/products`. */
  readonly ignoresTrailingSlash: boolean;
}
