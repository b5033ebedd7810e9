import type { FastifyRequest } from 'fastify';
import type { Condition } from '../query/condition.ts';
import { bothGrants, DENIED, eitherGrant, type Grant, GRANTED, type Membership, noGrant } from './grant.ts';

/** The view that a permission is asked about. */
export interface PermissionView {
  /** The name of the view's class. */
  readonly name: string;
  /** The operation or action that the request asks for: `list`, `retrieve`, `featured`, … */
  getAction(request: FastifyRequest): string;
  /** The condition of some lookups on the view's entity, for a scope: `view.where({ owner: user.id })`. */
  where(lookups: Readonly<Record<string, unknown>>): Condition;
  /** Whether a record is one of those that a condition is true of; one query. @internal */
  isWithin(request: FastifyRequest, object: object, condition: Condition): Promise<boolean>;
}

/** A permission as a view lists it: the class. */
export type PermissionClass = (new () => Permission) & Pick<typeof Permission, 'and' | 'or' | 'not'>;

type MaybePromise<Value> = Value | Promise<Value>;

/**
 * Says who may do what. Override any of three questions; each may answer with a promise:
 *
 * - `hasPermission`: may this request use the view at all? Asked before the body is read.
 * - `hasObjectPermission`: may it act on this record? Asked of a record that the view has loaded as an entity.
 * - `scope`: which records are there for it? Lists, retrieve, update and destroy see no others; a record outside is a 404.
 *
 * A failed check is a 401 while nobody is logged in and a 403 otherwise. One instance serves all requests.
 *
 * @example
 * class IsOwner extends Permission {
 *   override hasPermission(request: FastifyRequest) {
 *     return getCurrentUser(request) !== null;
 *   }
 *   override scope(request: FastifyRequest, view: PermissionView) {
 *     return view.where({ owner: getCurrentUser(request)?.id });
 *   }
 * }
 * permissionClasses: [IsOwner.or(IsRoleAdminUser)]
 */
export class Permission {
  hasPermission(_request: FastifyRequest, _view: PermissionView): MaybePromise<boolean> {
    return true;
  }

  hasObjectPermission(_request: FastifyRequest, _view: PermissionView, _object: object): MaybePromise<boolean> {
    return true;
  }

  scope?(request: FastifyRequest, view: PermissionView): MaybePromise<Condition | undefined>;

  /** The class that grants what both grant. The second is not asked where the first denies. */
  static and(this: PermissionClass, other: PermissionClass): PermissionClass {
    return combine(`(${this.name} and ${other.name})`, (request, view, object) => {
      const [left, right] = [instanceOf(this), instanceOf(other)];
      return then(left.grant(request, view, object), (first) =>
        first.scope === 'none' ? first : then(right.grant(request, view, object), (second) => bothGrants(first, second)),
      );
    });
  }

  /** The class that grants what either grants. The second is not asked where the first grants everything. */
  static or(this: PermissionClass, other: PermissionClass): PermissionClass {
    return combine(`(${this.name} or ${other.name})`, (request, view, object) => {
      const [left, right] = [instanceOf(this), instanceOf(other)];
      return then(left.grant(request, view, object), (first) =>
        first.scope === 'all' && first.object === true
          ? first
          : then(right.grant(request, view, object), (second) => eitherGrant(first, second, membership(request, view))),
      );
    });
  }

  /** The class that grants what this one does not. */
  static not(this: PermissionClass): PermissionClass {
    return combine(`(not ${this.name})`, (request, view, object) =>
      then(instanceOf(this).grant(request, view, object), (granted) => noGrant(granted, membership(request, view))),
    );
  }

  /**
   * The three answers as one; what views evaluate and `and`, `or`, `not` combine.
   *
   * @param object whether a record will be asked about; where not, object checks count as passed
   * @internal
   */
  grant(request: FastifyRequest, view: PermissionView, object: boolean): MaybePromise<Grant> {
    return then(this.hasPermission(request, view), (granted) => {
      if (!granted) return DENIED;
      const checked = object && this.hasObjectPermission !== Permission.prototype.hasObjectPermission;
      if (!checked && this.scope === undefined) return GRANTED;
      return then(this.scope?.(request, view), (scope) => ({
        scope: scope ?? 'all',
        object: checked ? (record: object) => this.hasObjectPermission(request, view, record) : true,
      }));
    });
  }
}

type GrantOf = Permission['grant'];

/** A permission class made of others: its three answers are those of the combined grant. */
function combine(name: string, grantOf: GrantOf): PermissionClass {
  const Combined = class extends Permission {
    override grant(request: FastifyRequest, view: PermissionView, object: boolean): MaybePromise<Grant> {
      return grantOf(request, view, object);
    }

    override hasPermission(request: FastifyRequest, view: PermissionView): MaybePromise<boolean> {
      return then(this.grant(request, view, true), ({ scope }) => scope !== 'none');
    }

    override hasObjectPermission(request: FastifyRequest, view: PermissionView, record: object): MaybePromise<boolean> {
      return then(this.grant(request, view, true), ({ scope, object }) =>
        then(membership(request, view)(scope, record), (member) => member && (object === true || object(record))),
      );
    }
  };
  Object.defineProperty(Combined, 'name', { value: name });
  return Combined;
}

const instances = new WeakMap<PermissionClass, Permission>();

/** Permissions keep no state, so one instance of a class serves every view that lists it. */
export function instanceOf(PermissionType: PermissionClass): Permission {
  let instance = instances.get(PermissionType);
  if (instance === undefined) instances.set(PermissionType, (instance = new PermissionType()));
  return instance;
}

function membership(request: FastifyRequest, view: PermissionView): Membership {
  return (scope, record) => {
    if (scope === 'all') return true;
    return scope === 'none' ? false : view.isWithin(request, record, scope);
  };
}

/** Goes on at once where the value is there, so that permissions that answer at once cost no promise. */
function then<Value, Next>(value: MaybePromise<Value>, next: (value: Value) => MaybePromise<Next>): MaybePromise<Next> {
  return value instanceof Promise ? value.then(next) : next(value);
}
