import type { MikroORM } from '@mikro-orm/core';
import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import type { Store } from '../../stores/store.ts';
import type { Features } from './features.ts';
import type { Action } from './action.ts';
import type { ListDefinition } from './list-definition.ts';
import type { SchemaSource } from './operation-schemas.ts';
import type { ViewDefaults } from './view-defaults.ts';
import type { ViewFeatures } from './view-features.ts';
import type { ViewPermissions } from './view-permissions.ts';
import type { ViewOverrides } from '../request/view-overrides.ts';
import type { Parent } from '../records/parent.ts';
import type { RecordOutputs } from '../output/record-outputs.ts';
import type { RecordFormat } from '../output/record-format.ts';
import type { Operation, UpdateMethod, WriteOperation } from '../request/operation.ts';
import type { KeyDefinition } from '../records/record-key.ts';
import type { ReservedKeys } from '../records/reserved-keys.ts';
import type { ShownRecords } from '../records/shown-records.ts';
import type { ViewInput } from '../write/view-input.ts';
import type { WritePlan } from '../write/write-plan.ts';

/** Where a view is registered: its application and its path. */
export interface ViewContext {
  readonly orm: MikroORM;
  /** The log of the application. */
  readonly log: FastifyBaseLogger;
  readonly defaults: ViewDefaults;
  /** The options of views that features of the application resolve. */
  readonly features: Features;
  /** The application's store of counters and short-lived values. */
  readonly store: Store;
  /** The keys that the application's routes reserve. */
  readonly reservedKeys: ReservedKeys;
  /** Path of the collection, `/api/products`. */
  readonly path: string;
  /** True if Fastify's router treats `/products/` as `/products`. */
  readonly ignoresTrailingSlash: boolean;
  /** The parent of a nested view. */
  readonly parent?: Parent | undefined;
}

/** The resolved declarations of a view, for the router. */
export interface ViewDefinition {
  /** The operations that get a route. */
  readonly operations: readonly Operation[];
  /** The methods of `update`. Default: both. */
  readonly updateMethods?: readonly UpdateMethod[];
  /** The permissions of the view, by operation. */
  readonly permissions: ViewPermissions;
  readonly key: KeyDefinition;
  /** The overrides of a view of an entity; undefined for a view without an entity. */
  readonly overrides?: ViewOverrides;
  /** Undefined if the view has no entity. */
  readonly lists?: ListDefinition;
  /** How the view's built-in operations write to the database. */
  readonly writes?: WritePlan;
  /** Lists why a write operation may need a transaction. Empty if it writes by one statement. */
  transactionReasons?(operation: WriteOperation): readonly string[];
  readonly schemas: SchemaSource;
  /** The members that wrap bodies and responses; undefined if the view has no entity. */
  readonly format?: RecordFormat;
  /** The read shapes of the view's responses; undefined if the view has no entity. */
  readonly outputs?: RecordOutputs;
  /** The input of the view; undefined if the view is read-only or has no entity. */
  readonly input?: ViewInput | undefined;
  /** What the features of the view add to it; undefined if it has no entity. */
  readonly features?: ViewFeatures;
  /**
   * Finds the views that the declarations refer to, after all are registered. Throws ImproperlyConfigured for a view
   * that is not registered.
   */
  findViews?(registered: readonly ShownRecords[]): void;
  /** Further routes that options add, by action name. */
  readonly actions?: ReadonlyMap<string, Action>;
  /** True for the root of a router, which lists the collections. */
  readonly listsCollections?: boolean;
  /** Finds the record of the path, before the handler of a detail action. */
  readonly getObject?: (request: FastifyRequest) => Promise<unknown>;
}

/**
 * The key of the method that resolves a view's declarations. A symbol, so that it does not appear among the names of a
 * user's `this`.
 */
export const DEFINE: unique symbol = Symbol('viewset.define');
