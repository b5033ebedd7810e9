import type { TagOf } from '../../http/entity-tag.ts';
import type { ErrorFormat } from '../../errors/error-format.ts';
import type { FilterClass } from '../../filters/filter.ts';
import type { PaginatorClass } from '../../pagination/paginator.ts';
import type { PermissionClass } from '../../permissions/permission.ts';
import type { RecordFormat } from '../output/record-format.ts';
import type { Idempotency } from './idempotency.ts';

/** The settings of the plugin and the router, for views that do not set their own. */
export interface ViewDefaults {
  readonly permissionClasses: readonly PermissionClass[];
  readonly filters: readonly FilterClass[];
  readonly pagination: PaginatorClass | null;
  readonly ignoreUnknownParameters: boolean | readonly string[];
  /** True if the application has set `throttleRate`. */
  readonly hasThrottleRate: boolean;
  /** True if the application has set `user`, so that requests without a token may have one. */
  readonly findsUser: boolean;
  /** The secret that encrypts cursors; undefined if the application has set none. */
  readonly secret: string | undefined;
  readonly errorFormat: ErrorFormat;
  readonly tagOf: TagOf;
  /** Stores the responses of writes by `Idempotency-Key`; undefined if the application has set none. */
  readonly idempotency?: Idempotency | undefined;
  /** The format of bodies and responses of the router's views; undefined if the router has none. */
  readonly format?: RecordFormat;
}
