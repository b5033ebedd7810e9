import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import type { FieldName } from '../../fields/field-name.ts';
import { fieldPath, type FieldPath } from '../../fields/field-path.ts';
import { isRecord } from '../../support/json.ts';
import { compare } from '../../query/language/compare.ts';
import { type Condition, not } from '../../query/language/condition.ts';
import { assignValues } from '../../mikro/assign-values.ts';
import { checkOptions, LIST, prefixErrors, type OptionRule, TEXT, wrongOption } from '../../errors/options.ts';
import type { PermissionClass } from '../../permissions/permission.ts';
import { isPlainColumn } from '../../view/output/plain-column.ts';
import type { DeletionMark } from '../../view/records/deletion-mark.ts';

/** The name of every nullable point in time of an entity. */
export type DeletedAtName<Entity> = {
  [Name in FieldName<Entity>]: null extends Entity[Name]
    ? [NonNullable<Entity[Name]>] extends [Date]
      ? Name
      : never
    : never;
}[FieldName<Entity>];

/**
 * The option `softDelete` of a view: the property for the time of the deletion, and the permissions to see deleted
 * records.
 */
export type SoftDeleteOption<Entity> =
  | DeletedAtName<Entity>
  | {
      /** The property for the time of the deletion: a nullable point in time. */
      readonly property: DeletedAtName<Entity>;
      /**
       * Adds `GET …/deleted` and `POST …/:pk/restore`, for requests that pass the view's own permissions and these.
       * `[AllowAny]` adds no further requirement. Default: the view has neither route, and never shows a deleted
       * record.
       */
      readonly visibleTo?: readonly PermissionClass[];
    };

export const SOFT_DELETE_RULE: OptionRule = [
  'the name of a property, or an object of "property" and "visibleTo"',
  (value) => TEXT[1](value) || isRecord(value),
];

/** The actions that use only deleted records. */
export const OF_DELETED = ['deleted', 'restore'] as const;

/** The part of a view that decides how it deletes. */
interface DeletingView {
  readonly name: string;
  readonly meta: EntityMetadata;
  /** The properties that bodies, or functions of the view, may set. */
  readonly written: readonly string[];
  readonly isSingleton: boolean;
}

/** Deletes records by a mark: a property holds the time of the deletion, or NULL. */
export class SoftDelete implements DeletionMark {
  readonly column: FieldPath;
  /** The permissions to see deleted records, in addition to the view's own; undefined: nobody sees them. */
  readonly visibleTo: readonly PermissionClass[] | undefined;
  readonly #isAlive: Condition;
  readonly #isDeleted: Condition;

  /** @throws ImproperlyConfigured for a property that cannot hold the time, or that clients could write */
  constructor({ name, meta, written, isSingleton }: DeletingView, option: string | { readonly property: string }) {
    const owner = `${name}.softDelete`;
    if (isRecord(option)) checkOptions(owner, option, { property: TEXT, visibleTo: LIST });
    const given: { readonly property: string; readonly visibleTo?: readonly PermissionClass[] } =
      typeof option === 'string' ? { property: option } : option;
    // A missing property is undefined, which the check of values accepts.
    if (given.property === undefined) throw wrongOption(owner, 'property', TEXT[0], undefined);
    this.column = columnOf(name, meta, given.property);
    if (written.includes(given.property)) {
      throw new ImproperlyConfigured(
        `${name}: option "softDelete" names "${given.property}", which a body or "fill" sets too: a client could delete and restore records by it`,
      );
    }
    this.visibleTo = visibleToOf(owner, given.visibleTo, isSingleton);
    this.#isAlive = compare(this.column, 'exact', null);
    this.#isDeleted = not(this.#isAlive);
  }

  /** Selects the records that are not deleted; for the actions in `OF_DELETED`, the deleted records. */
  conditionFor({ routeOptions: { config } }: FastifyRequest): Condition {
    if (this.visibleTo === undefined) return this.#isAlive;
    return (OF_DELETED as readonly unknown[]).includes(config.viewset?.action) ? this.#isDeleted : this.#isAlive;
  }

  withoutMark(meta: EntityMetadata): Condition {
    return compare(fieldPath(meta, this.column.property.name, '.'), 'exact', null);
  }

  values(): object {
    return { [this.column.property.name]: new Date() };
  }

  /** Restores a record, in the next flush. */
  unmark(em: EntityManager, entity: object): void {
    assignValues(em, entity, { [this.column.property.name]: null });
  }
}

function columnOf(name: string, meta: EntityMetadata, property: string): FieldPath {
  const path = prefixErrors(`${name}: option "softDelete"`, () => fieldPath(meta, property, '.'));
  if (path.type.kind === 'datetime' && path.nullable && isPlainColumn(path)) return path;
  throw wrongOption(name, 'softDelete', 'the name of a nullable p.datetime() of the entity', property);
}

function visibleToOf(
  owner: string,
  visibleTo: readonly PermissionClass[] | undefined,
  isSingleton: boolean,
): readonly PermissionClass[] | undefined {
  if (visibleTo === undefined) return undefined;
  if (visibleTo.length === 0) {
    throw wrongOption(owner, 'visibleTo', 'a list of at least one class, such as [IsRoleAdminUser]', visibleTo);
  }
  if (!isSingleton) return visibleTo;
  throw new ImproperlyConfigured(`${owner}: option "visibleTo" does not fit "singleton", a view of one record`);
}
