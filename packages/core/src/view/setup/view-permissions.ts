import type { EntityMetadata } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { isPlainRecord } from '../../support/json.ts';
import { nearest } from '../../errors/nearest.ts';
import type { OptionRule } from '../../errors/options.ts';
import { checkOperators } from '../../permissions/operators.ts';
import { makePermissions, type Permission, type PermissionClass } from '../../permissions/permission.ts';
import { type Operation, OPERATIONS } from '../request/operation.ts';
import { actionsOf } from './action.ts';

/**
 * The permission classes of a view by operation. `default` is for the operations without a list of their own, and for
 * actions without `permissionClasses`. A list replaces `default`; it does not add to it.
 *
 * @example
 * class ProductViewSet extends ModelViewSet(Product, {
 *   read,
 *   write,
 *   permissionClasses: { default: [IsAuthenticated], list: [AllowAny], destroy: [IsRoleAdminUser] },
 * }) {}
 */
export type PermissionsByOperation = { readonly default: readonly PermissionClass[] } & {
  readonly [Name in Operation]?: readonly PermissionClass[];
};

export const PERMISSIONS_RULE: OptionRule = [
  'a list of classes that extend Permission, or an object of these lists by operation',
  (value) => Array.isArray(value) || isPlainRecord(value),
];

/** The part of a view that declares its permissions. */
interface PermittedView {
  readonly name: string;
  readonly permissionClasses?: readonly PermissionClass[] | PermissionsByOperation | undefined;
}

/** The permissions of a view: one list for everything, or lists by operation. */
export class ViewPermissions {
  /** The lists that the view declares. Empty if it uses the application's. */
  readonly #declared: Readonly<Partial<Record<string, readonly PermissionClass[]>>>;
  readonly #defaults: readonly PermissionClass[];
  readonly #made: ReadonlyMap<string, readonly Permission[]>;
  /** The operation whose permissions decide which records others may refer to, or find below. */
  readonly #showing: Operation;

  /**
   * @param defaults the classes of views that declare none
   * @throws ImproperlyConfigured for a name that is no operation of the view, and for a value that is not a permission
   * class
   */
  constructor(
    view: PermittedView,
    operations: readonly Operation[],
    defaults: readonly PermissionClass[],
    meta: EntityMetadata | undefined,
  ) {
    const { name, permissionClasses: given } = view;
    checkOperators(name, view);
    this.#defaults = defaults;
    this.#showing = operations.includes('retrieve') ? 'retrieve' : 'list';
    if (!isPlainRecord(given)) {
      this.#declared = given === undefined ? {} : { default: given };
      this.#made = new Map([['default', makePermissions(given ?? defaults, name, meta)]]);
      return;
    }
    checkNames(view, Object.keys(given), operations);
    this.#declared = given;
    this.#made = new Map(
      Object.entries(given).map(([key, classes]) => {
        return [key, makePermissions(classes, name, meta, `permissionClasses.${key}`)];
      }),
    );
  }

  /** The permissions of an operation. Undefined: of an action without its own. */
  of(operation: Operation | undefined): readonly Permission[] {
    return this.#made.get(operation ?? 'default') ?? this.#made.get('default')!;
  }

  /** The classes that the view declares for an operation; undefined if it uses the application's. */
  declaredFor(operation: Operation | undefined): readonly PermissionClass[] | undefined {
    return this.#declared[operation ?? 'default'] ?? this.#declared['default'];
  }

  /** The classes of an operation, declared by the view or the application. */
  classesFor(operation: Operation): readonly PermissionClass[] {
    return this.declaredFor(operation) ?? this.#defaults;
  }

  /** The permissions that show one record: those of `retrieve`, or of `list` in a view without it. */
  get showing(): readonly Permission[] {
    return this.of(this.#showing);
  }

  /** The permissions of all lists. */
  get all(): readonly Permission[] {
    return [...this.#made.values()].flat();
  }

  /** True if operations have different lists. */
  get areByOperation(): boolean {
    return this.#made.size > 1;
  }
}

function checkNames(view: PermittedView, names: readonly string[], operations: readonly Operation[]): void {
  const owner = `${view.name}: option "permissionClasses"`;
  if (!names.includes('default')) {
    throw new ImproperlyConfigured(
      `${owner} needs the name "default", for actions and for operations without classes of their own`,
    );
  }
  for (const name of names) {
    if (name === 'default' || (operations as readonly string[]).includes(name)) continue;
    if ((OPERATIONS as readonly string[]).includes(name)) {
      throw new ImproperlyConfigured(`${owner} has classes for "${name}", which the view does not offer`);
    }
    const meant = nearest(name, ['default', ...OPERATIONS]);
    const hint = actionsOf(view).has(name)
      ? 'the action itself has the option "permissionClasses"'
      : meant === undefined
        ? `it knows default, ${OPERATIONS.join(', ')}`
        : `did you mean "${meant}"?`;
    throw new ImproperlyConfigured(`${owner} names "${name}", which is no operation; ${hint}`);
  }
}
