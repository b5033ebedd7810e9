import type { EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { AuthenticatedRequest } from '../http/current-user.ts';
import { type Awaitable, isYes, whenReady } from '../support/awaitable.ts';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { nearest } from '../errors/nearest.ts';
import { describe, wrongOption } from '../errors/options.ts';
import type { Condition } from '../query/language/condition.ts';
import { lookupCondition } from '../query/language/resolve-lookup.ts';
import { byStoredKeys } from '../query/language/stored-keys.ts';
import type { Lookups } from '../query/language/lookup-name.ts';
import {
  ALL,
  checkedGrant,
  complement,
  allowsRecord,
  type Grant,
  intersection,
  NONE,
  scopeGrant,
  union,
} from './grant.ts';

/** The parts of a view that a permission sees. */
export interface PermissionView {
  readonly name: string;
  /** Returns the name of the requested operation or action: `list`, `retrieve`, `featured`, … */
  getAction(request: FastifyRequest): string;
  /** The view's entity, if it has one. */
  readonly meta?: EntityMetadata | undefined;
}

/** What every permission class can do. It has no constructor, because a class can only extend a type that has one. */
export interface ComposableClass {
  readonly name: string;
  and<This extends PermissionClass, Other extends PermissionClass>(this: This, other: Other): And<This, Other>;
  or<This extends PermissionClass, Other extends PermissionClass>(this: This, other: Other): Or<This, Other>;
  not(): PermissionClass;
}

/** A permission class, hand-written or composed. */
export interface PermissionClass extends ComposableClass {
  new (): Permission;
}

/** A permission class that refuses all anonymous requests. */
export interface UserPermissionClass extends ComposableClass {
  new (): UserPermission;
}

interface UserPermission extends Permission {
  hasPermission(request: FastifyRequest, view: PermissionView): request is AuthenticatedRequest;
}

/** True if a class, or every class of a union, grants nothing to anonymous requests. */
type RefusesOthers<Class> = unknown extends Class ? false : [Class] extends [UserPermissionClass] ? true : false;

type And<One, Other> = true extends RefusesOthers<One> | RefusesOthers<Other> ? UserPermissionClass : PermissionClass;
type Or<One, Other> = RefusesOthers<One> | RefusesOthers<Other> extends true ? UserPermissionClass : PermissionClass;

/** The type of a request that passed a list of permission classes, all of which must agree. */
export type RequestBehind<Classes> = [RefusesAnonymous<Classes>] extends [true]
  ? Pick<AuthenticatedRequest, 'user'>
  : unknown;

/** Considers only the classes that are certainly in the list, because a part that is spread into it may be empty. */
type RefusesAnonymous<Classes> = Classes extends readonly [infer First, ...infer Rest]
  ? RefusesOthers<First> extends true
    ? true
    : RefusesAnonymous<Rest>
  : Classes extends readonly [...infer Rest, infer Last]
    ? RefusesOthers<Last> extends true
      ? true
      : RefusesAnonymous<Rest>
    : false;

/** The key of the method that evaluates all questions of a permission. */
export const GRANT: unique symbol = Symbol('viewset.grant');
/** The key of the property that reports whether a permission hides records. */
export const HIDES_RECORDS: unique symbol = Symbol('viewset.hides-records');
/** The key of the method that rejects views whose records a permission cannot check. */
export const CHECK_ENTITY: unique symbol = Symbol('viewset.check-entity');
/** The key of the property that reports whether a permission checks records. */
export const CHECKS_RECORDS: unique symbol = Symbol('viewset.asks-of-records');
/** The key of the method that reports whether a permission grants nothing to anonymous requests. */
export const REFUSES_ANONYMOUS: unique symbol = Symbol('viewset.refuses-anonymous');

/** The key of the property with the fields that a permission sets on create. */
export const FILLS: unique symbol = Symbol('viewset.fills');

/** Returns a request's value for a field of a new record. Throws Unauthorized or Forbidden if there is none. */
export type FillOf = (request: FastifyRequest) => unknown;

/** The lookups of the named entity. Without a named entity, no value is assignable. */
type LookupsOf<Entity extends object> = [Entity] extends [never]
  ? 'name the entity whose records these are: this.records<Order>(view, …)'
  : Lookups<Entity>;

/**
 * Decides which requests and records are allowed. Override any of three methods. Each allows everything by default, and
 * costs nothing if you do not override it. One instance serves all requests. Only `true` allows; any other value
 * refuses.
 *
 * | question | called for | if the answer is not true, or the record is outside |
 * |---|---|---|
 * | `hasPermission` | every request to the view | 401 or 403 |
 * | `hasObjectPermission` | the record of retrieve, update, destroy and detail actions | 401 or 403 |
 * | `scope` | every query of the view, lists too | lists omit the record, its URL gives 404 |
 *
 * A scope never refuses a request. If it has no records, lists are empty.
 *
 * Classes compose: `A.and(B)`, `A.or(B)` and `A.not()` are permission classes too, and correct for all three methods.
 * Extend one to name it: `class MayWrite extends A.or(B) {}`. The second class is not called if the first decides. A record that lists omit gives 404. So `not()` of a class with a
 * scope and an object check grants only records outside the scope.
 *
 * @example
 * // `ViewsetTypes` declares the type of the user. Without it, an id may be a number, a string or a bigint.
 * declare module '@viewset/core' {
 *   interface ViewsetTypes { user: Account }
 * }
 * class IsOwner extends Permission {
 *   override hasPermission(request: FastifyRequest) { return getCurrentUser(request) !== null; }
 *   override scope(request: FastifyRequest, view: PermissionView) {
 *     return this.records<Order>(view, { owner__id: requireUser(request).id });
 *   }
 * }
 * const MayRead = IsOwner.or(IsRoleAdminUser);   // … where owner_id = 7, and no condition for an administrator
 */
export class Permission {
  static and<This extends PermissionClass, Other extends PermissionClass>(this: This, other: Other): And<This, Other> {
    return compose(`(${this.name} and ${nameOf(this, 'and', other)})`, [this, other], {
      grant: (ask) =>
        whenReady(ask(0), (first) =>
          first === NONE ? NONE : whenReady(ask(1), (second) => intersection(first, second)),
        ),
      refuses: (operands, refuses) => operands.some(refuses),
    }) as And<This, Other>;
  }

  static or<This extends PermissionClass, Other extends PermissionClass>(this: This, other: Other): Or<This, Other> {
    return compose(`(${this.name} or ${nameOf(this, 'or', other)})`, [this, other], {
      grant: (ask, request) =>
        whenReady(ask(0), (first) =>
          first === ALL ? ALL : whenReady(ask(1), (second) => union(first, second, request)),
        ),
      refuses: (operands, refuses) => operands.every(refuses),
    }) as Or<This, Other>;
  }

  static not(this: PermissionClass): PermissionClass {
    return compose(`(not ${this.name})`, [this], {
      grant: (ask, request) => whenReady(ask(0), (only) => complement(only, request)),
      refuses: () => false,
      isNegation: true,
    });
  }

  /** Reports whether the request may use the view at all. Called before the body is read. */
  hasPermission(_request: FastifyRequest, _view: PermissionView): boolean | Promise<boolean> {
    return true;
  }

  /**
   * Reports whether the request may use this record of the scope. If you override it, the view reads records as
   * entities.
   */
  hasObjectPermission(_request: FastifyRequest, _view: PermissionView, _object: object): boolean | Promise<boolean> {
    return true;
  }

  /**
   * Returns the condition for the records that the request may see, usually made by `records`. Undefined: all records.
   * It applies to the queries of list, retrieve, update and destroy.
   */
  scope(_request: FastifyRequest, _view: PermissionView): Condition | undefined | Promise<Condition | undefined> {
    return undefined;
  }

  /**
   * Makes a `scope` from lookups, as in `filterFields`. The type argument is the entity. References are compared by
   * their stored value: a reference to a record that a MikroORM filter hides is not NULL. Throws ImproperlyConfigured
   * for a wrong name.
   */
  protected records<Entity extends object = never>(view: PermissionView, lookups: LookupsOf<Entity>): Condition {
    const { meta } = view;
    if (meta === undefined) {
      throw new ImproperlyConfigured(`${this.constructor.name}: ${view.name} has no entity to find records of`);
    }
    return byStoredKeys(lookupCondition(meta, lookups as Readonly<Record<string, unknown>>));
  }

  /** @internal */
  [GRANT](request: FastifyRequest, view: PermissionView): Awaitable<Grant> {
    return whenReady(this.hasPermission(request, view), (result) => {
      if (!isYes(result)) return NONE;
      return whenReady(this.scope(request, view), (scope) => this.#granted(request, view, scope));
    });
  }

  /** @internal */
  get [HIDES_RECORDS](): boolean {
    return this.scope !== Permission.prototype.scope;
  }

  /** @internal */
  get [CHECKS_RECORDS](): boolean {
    return this.hasObjectPermission !== Permission.prototype.hasObjectPermission;
  }

  /** @internal */
  [REFUSES_ANONYMOUS](_method: string): boolean {
    return false;
  }

  /** @internal `users` is the entity of users, if it is known. */
  [CHECK_ENTITY](_meta: EntityMetadata | undefined, _owner: string, _users?: EntityMetadata): void {}

  /** @internal */
  [FILLS](_meta: EntityMetadata): Readonly<Record<string, FillOf>> {
    return {};
  }

  #granted(request: FastifyRequest, view: PermissionView, scope: Condition | undefined): Grant {
    if (scope !== undefined && typeof (scope as Partial<Condition> | null)?.kind !== 'string') {
      throw new ImproperlyConfigured(
        `${this.constructor.name}: scope must return a condition, or undefined for all records, got ${describe(scope)}`,
      );
    }
    if (this.hasObjectPermission === Permission.prototype.hasObjectPermission) {
      return scope === undefined ? ALL : scopeGrant(scope);
    }
    return checkedGrant(scope, (object) => whenReady(this.hasObjectPermission(request, view, object), isYes));
  }
}

/** Returns the fields that permissions set on create. */
export function fillsOf(permissions: readonly Permission[], meta: EntityMetadata): Readonly<Record<string, FillOf>> {
  return Object.assign({}, ...permissions.map((permission) => permission[FILLS](meta))) as Record<string, FillOf>;
}

/** Reports whether a value may be an entry in a list of permission classes. */
function isPermissionClass(value: unknown): value is PermissionClass {
  return typeof value === 'function' && (value === Permission || value.prototype instanceof Permission);
}

/**
 * Makes one instance of each class. It serves every request.
 * @param owner the declaring class or option, for the error
 * @param meta the entity whose records the permissions check, if there is one
 * @param option the name of the list, for the error
 * @throws ImproperlyConfigured for a value that is not a permission class, and for a class of another entity
 */
export function makePermissions(
  classes: readonly PermissionClass[],
  owner: string,
  meta?: EntityMetadata,
  option = 'permissionClasses',
): readonly Permission[] {
  if (!Array.isArray(classes)) {
    throw wrongOption(owner, option, 'a list of classes that extend Permission', classes);
  }
  return classes.map((Class: unknown, index) => {
    if (!isPermissionClass(Class)) {
      throw wrongOption(owner, `${option}[${index}]`, 'a class that extends Permission', Class);
    }
    const permission = makePermission(Class);
    permission[CHECK_ENTITY](meta, owner);
    return permission;
  });
}

/**
 * Makes an instance. Rejects a class that overrides nothing, or has a method with a misspelt name, because it would
 * allow everybody.
 */
function makePermission(Class: PermissionClass): Permission {
  const permission = new Class();
  const names = new Set(Object.getOwnPropertyNames(permission));
  for (
    let level = Class.prototype as object;
    level !== Permission.prototype;
    level = Object.getPrototypeOf(level) as object
  ) {
    for (const name of Object.getOwnPropertyNames(level)) names.add(name);
  }
  for (const name of names) {
    const meant = /^has/i.test(name) ? nearest(name, QUESTIONS) : undefined;
    if (meant === undefined || meant === 'scope' || permission[meant] !== Permission.prototype[meant]) continue;
    throw new ImproperlyConfigured(`${Class.name}: "${name}" is never called; did you mean "${meant}"?`);
  }
  if (QUESTIONS.every((question) => permission[question] === Permission.prototype[question])) {
    throw new ImproperlyConfigured(
      `${Class.name}: a permission class that overrides none of ${QUESTIONS.join(', ')} allows everybody; use AllowAny to say so`,
    );
  }
  return permission;
}

/** The rules by which a composition combines the results of its classes. */
interface Algebra {
  /** Combines their grants. `ask` evaluates the class at a position. */
  readonly grant: (ask: (place: number) => Awaitable<Grant>, request: FastifyRequest) => Awaitable<Grant>;
  /**
   * Reports whether the composition grants nothing to anonymous requests. `refuses` reports the same for one of its
   * classes.
   */
  readonly refuses: (operands: readonly Permission[], refuses: (operand: Permission) => boolean) => boolean;
  /** True if the composition grants the records that its class does not grant. */
  readonly isNegation?: boolean;
}

const QUESTIONS = ['hasPermission', 'hasObjectPermission', 'scope'] as const;

function compose(name: string, classes: readonly PermissionClass[], algebra: Algebra): PermissionClass {
  class Composed extends Permission {
    readonly #operands = classes.map(makePermission);
    /** Computed on first use, because a subclass may have fields. */
    #isOverridden: boolean | undefined;

    override hasPermission(request: FastifyRequest, view: PermissionView): boolean | Promise<boolean> {
      return whenReady(this.#combined(request, view), (granted) => granted !== NONE);
    }

    override hasObjectPermission(
      request: FastifyRequest,
      view: PermissionView,
      object: object,
    ): boolean | Promise<boolean> {
      return whenReady(this.#combined(request, view), (granted) => allowsRecord(granted, object, request));
    }

    override scope(request: FastifyRequest, view: PermissionView): Awaitable<Condition | undefined> {
      const hides = this.#operands.some((operand) => operand[HIDES_RECORDS]);
      return whenReady(this.#combined(request, view), ({ shown }) => (hides ? shown.most : undefined));
    }

    override [GRANT](request: FastifyRequest, view: PermissionView): Awaitable<Grant> {
      // If a subclass overrides a question, it is evaluated like a hand-written class.
      this.#isOverridden ??= QUESTIONS.some((question) => this[question] !== Composed.prototype[question]);
      return this.#isOverridden ? super[GRANT](request, view) : this.#combined(request, view);
    }

    override get [HIDES_RECORDS](): boolean {
      return this.scope !== Composed.prototype.scope || this.#operands.some((operand) => operand[HIDES_RECORDS]);
    }

    override get [CHECKS_RECORDS](): boolean {
      const isOverridden = this.hasObjectPermission !== Composed.prototype.hasObjectPermission;
      return isOverridden || this.#operands.some((operand) => operand[CHECKS_RECORDS]);
    }

    override [REFUSES_ANONYMOUS](method: string): boolean {
      const isOverridden = this.hasPermission !== Composed.prototype.hasPermission;
      return !isOverridden && algebra.refuses(this.#operands, (operand) => operand[REFUSES_ANONYMOUS](method));
    }

    override [CHECK_ENTITY](meta: EntityMetadata | undefined, owner: string, users?: EntityMetadata): void {
      for (const operand of this.#operands) operand[CHECK_ENTITY](meta, owner, users);
      const fields = meta === undefined || algebra.isNegation !== true ? [] : Object.keys(this[FILLS](meta));
      if (fields.length === 0) return;
      throw new ImproperlyConfigured(
        `${owner}: ${this.constructor.name} would set "${fields.join(', ')}" of new records to a user whom it refuses; negate a class that sets no field`,
      );
    }

    override [FILLS](meta: EntityMetadata): Readonly<Record<string, FillOf>> {
      return fillsOf(this.#operands, meta);
    }

    #combined(request: FastifyRequest, view: PermissionView): Awaitable<Grant> {
      return algebra.grant((place) => this.#operands[place]![GRANT](request, view), request);
    }
  }
  Object.defineProperty(Composed, 'name', { value: name });
  return Composed;
}

function nameOf(left: PermissionClass, operator: 'and' | 'or', right: unknown): string {
  if (isPermissionClass(right)) return right.name;
  throw wrongOption(`${left.name}.${operator}()`, 'other', 'a class that extends Permission', right);
}
