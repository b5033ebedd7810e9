import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { type AuthenticatedRequest, getCurrentUser, permissionDenied } from '../http/current-user.ts';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { fieldPath, type FieldPath } from '../fields/field-path.ts';
import { FieldValueError } from '../fields/field-value-error.ts';
import { parseFieldText } from '../fields/field-value.ts';
import { keyText } from '../fields/primary-key.ts';
import { isToOne, referredKey } from '../fields/property.ts';
import { type Condition, never } from '../query/language/condition.ts';
import { SAFE_METHODS } from '../http/methods.ts';
import { keyOf } from '../mikro/entity-reader.ts';
import { BOOLEAN, checkOptions, TEXT, wrongOption } from '../errors/options.ts';
import {
  CHECK_ENTITY,
  type FillOf,
  FILLS,
  Permission,
  type PermissionClass,
  type PermissionView,
  REFUSES_ANONYMOUS,
  type UserPermissionClass,
} from './permission.ts';

/**
 * Makes a permission class for records that belong to a user. A field of the record, a to-one relation or a column,
 * holds the user's `id`.
 *
 * - A new record belongs to the user who creates it. Clients cannot set the field, on update either.
 * - Only the owner may update or destroy the record. The same applies to its actions by methods other than GET and
 *   QUERY.
 * - Everybody may read. With `scope: true`, users see only their own records.
 *
 * It composes by `and` and `or`. Its `not` fails at start. If the `fill` option of a view sets the field, the view uses
 * that value.
 *
 * Throws ImproperlyConfigured for wrong arguments. A view whose entity lacks the field fails at start. So does a relation
 * to another entity than that of users, if it is known: `auth` of `@viewset/auth` declares it, or `checkOwners`.
 *
 * @example
 * class BookViewSet extends ModelViewSet(Book, {
 *   read: readShape(Book, ['id', 'title']),
 *   write: writeShape(Book, ['title']),
 *   permissionClasses: [IsOwner('author').or(IsRoleAdminUser)],
 * }) {}
 * // POST /books {"title":"Ash"} by user 7: the author is 7
 * // PATCH /books/1 by a user who is neither its author nor an administrator: 403
 */
export function IsOwner(field: string, options: { readonly scope: true }): UserPermissionClass;
export function IsOwner(field: string, options?: { readonly scope?: boolean }): PermissionClass;
export function IsOwner(field: string, options: { readonly scope?: boolean } = {}): PermissionClass {
  if (!TEXT[1](field)) throw wrongOption('IsOwner()', 'field', 'the name of a field, first', field);
  checkOptions(`IsOwner('${field}')`, options, { scope: BOOLEAN });
  const Class = options.scope === true ? ownerScopeClass(field) : ownerClass(field);
  Object.defineProperty(Class, 'name', { value: `IsOwner(${field})` });
  return Class;
}

function ownerClass(field: string) {
  return class Owner extends Permission {
    override hasPermission(request: FastifyRequest): boolean {
      return SAFE_METHODS.has(request.method) || getCurrentUser(request) !== null;
    }

    override hasObjectPermission(request: FastifyRequest, view: PermissionView, object: object): boolean {
      if (SAFE_METHODS.has(request.method)) return true;
      const key = userKey(request, pathOf(view.meta, field));
      const held: unknown = keyOf(object[field as never]);
      return key !== undefined && held !== null && keyText(held) === keyText(key);
    }

    override [REFUSES_ANONYMOUS](method: string): boolean {
      return !SAFE_METHODS.has(method);
    }

    override [CHECK_ENTITY](meta: EntityMetadata | undefined, owner: string, users?: EntityMetadata): void {
      checkField(`${owner}: IsOwner('${field}')`, meta, field, users);
    }

    override [FILLS](meta: EntityMetadata): Readonly<Record<string, FillOf>> {
      const path = pathOf(meta, field);
      return {
        [field]: (request) => {
          const key = userKey(request, path);
          if (key === undefined) throw permissionDenied(request);
          return key;
        },
      };
    }
  };
}

function ownerScopeClass(field: string) {
  return class OwnerAlone extends ownerClass(field) {
    override hasPermission(request: FastifyRequest): request is AuthenticatedRequest {
      return getCurrentUser(request) !== null;
    }

    override scope(request: FastifyRequest, view: PermissionView): Condition {
      const key = userKey(request, pathOf(view.meta, field));
      return key === undefined ? never : this.records<object>(view, { [field]: key });
    }

    override [REFUSES_ANONYMOUS](): boolean {
      return true;
    }
  };
}

function pathOf(meta: EntityMetadata | undefined, field: string): FieldPath {
  return fieldPath(meta as EntityMetadata, field, '.');
}

/**
 * Returns the user's id in the type of the field. Undefined if nobody is logged in, or if the field cannot hold the id.
 */
function userKey(request: FastifyRequest, { type }: FieldPath): unknown {
  const id: unknown = getCurrentUser(request)?.id;
  if (id === undefined || id === null) return undefined;
  try {
    return parseFieldText(type, keyText(id));
  } catch (error) {
    if (error instanceof FieldValueError) return undefined;
    throw error;
  }
}

function checkField(who: string, meta: EntityMetadata | undefined, field: string, users?: EntityMetadata): void {
  if (meta === undefined) throw new ImproperlyConfigured(`${who} stands at a view of no entity`);
  const { steps, toMany } = pathOf(meta, field);
  const property = meta.properties[field as never] as EntityProperty | undefined;
  if (property === undefined || toMany || steps.length > 0) {
    throw new ImproperlyConfigured(`${who} has to name a column of ${meta.className} itself, or a relation to one`);
  }
  if (isToOne(property) && referredKey(property).primary !== true) {
    throw new ImproperlyConfigured(
      `${who}: the relation refers by "${referredKey(property).name}", not by the id of a user`,
    );
  }
  if (users !== undefined && isToOne(property)) checkUsers(who, property, users);
}

/** @throws ImproperlyConfigured for a relation to another entity than that of users */
function checkUsers(who: string, { targetMeta: target }: EntityProperty, users: EntityMetadata): void {
  if (target === undefined || target.root === users.root) return;
  // A profile may share the key of its user.
  const [key, ...others] = target.getPrimaryProps();
  if (key !== undefined && others.length === 0 && isToOne(key) && key.targetMeta?.root === users.root) return;
  throw new ImproperlyConfigured(
    `${who}: the relation refers to ${target.className}, but users are records of ${users.className}; name a relation to ` +
      `${users.className}, or a column with its id`,
  );
}
