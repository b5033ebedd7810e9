import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { ImproperlyConfigured } from '../../errors.ts';
import type { FieldName } from '../../fields/field-name.ts';
import { fieldPath, type FieldPath } from '../../fields/field-path.ts';
import { isRecord } from '../../json.ts';
import { compare } from '../../language/compare.ts';
import { type Condition, not } from '../../language/condition.ts';
import { assignValues } from '../../mikro/assign-values.ts';
import { checkOptions, LIST, naming, type OptionRule, TEXT, wrongOption } from '../../options.ts';
import type { PermissionClass } from '../../permissions/permission.ts';
import { isPlainColumn } from '../answers/plain-column.ts';

/** The name of every point in time of an entity that may be NULL. */
export type DeletedAtName<Entity> = {
  [Name in FieldName<Entity>]: null extends Entity[Name]
    ? [NonNullable<Entity[Name]>] extends [Date]
      ? Name
      : never
    : never;
}[FieldName<Entity>];

/** The option `softDelete` of a view: the property that has the time of the deletion, and who may see deleted records. */
export type SoftDeleteOption<Entity> =
  | DeletedAtName<Entity>
  | {
      /** The property that has the time of the deletion: a point in time that may be NULL. */
      readonly property: DeletedAtName<Entity>;
      /**
       * Adds `GET …/deleted` and `POST …/:pk/restore`, for requests that pass the view's own permissions and these. `[AllowAny]` asks the view's own
       * alone. Default: the view has neither, and shows a deleted record to nobody.
       */
      readonly visibleTo?: readonly PermissionClass[];
    };

export const SOFT_DELETE_RULE: OptionRule = [
  'the name of a property, or an object of "property" and "visibleTo"',
  (value) => TEXT[1](value) || isRecord(value),
];

/** The actions that are about deleted records, and about no others. */
export const OF_DELETED = ['deleted', 'restore'] as const;

/** The part of a view that decides how it deletes. */
interface DeletingView {
  readonly name: string;
  readonly meta: EntityMetadata;
  /** The properties that bodies, or functions of the view, may set. */
  readonly written: readonly string[];
  readonly isSingleton: boolean;
}

/** The way that a view deletes records and keeps them: a property has the time of the deletion, and NULL as long as there is none. */
export class SoftDelete {
  readonly column: FieldPath;
  /** Those who see deleted records, besides what the view's own permissions ask; undefined: nobody. */
  readonly visibleTo: readonly PermissionClass[] | undefined;
  readonly #isAlive: Condition;
  readonly #isDeleted: Condition;

  /** @throws ImproperlyConfigured for a property that cannot have the time, or that clients could write */
  constructor({ name, meta, written, isSingleton }: DeletingView, option: string | { readonly property: string }) {
    const owner = `${name}.softDelete`;
    if (isRecord(option)) checkOptions(owner, option, { property: TEXT, visibleTo: LIST });
    const given: { readonly property: string; readonly visibleTo?: readonly PermissionClass[] } =
      typeof option === 'string' ? { property: option } : option;
    // A property that is left out is undefined, which no check of values refuses.
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

  /** The records that a request is about: those that are not deleted, or for the actions of `OF_DELETED` the deleted ones. */
  conditionFor({ routeOptions: { config } }: FastifyRequest): Condition {
    if (this.visibleTo === undefined) return this.#isAlive;
    return (OF_DELETED as readonly unknown[]).includes(config.viewset?.action) ? this.#isDeleted : this.#isAlive;
  }

  /** True of the records of an entity that are not deleted: of the view's own, or of one that is in the same table. */
  isAliveIn(meta: EntityMetadata): Condition {
    return compare(fieldPath(meta, this.column.property.name, '.'), 'exact', null);
  }

  /** The values that delete a record. */
  deletion(): object {
    return { [this.column.property.name]: new Date() };
  }

  /** Has the next flush delete a record. */
  mark(em: EntityManager, entity: object): void {
    assignValues(em, entity, this.deletion());
  }

  /** Has the next flush restore a record. */
  unmark(em: EntityManager, entity: object): void {
    assignValues(em, entity, { [this.column.property.name]: null });
  }
}

function columnOf(name: string, meta: EntityMetadata, property: string): FieldPath {
  const path = naming(`${name}: option "softDelete"`, () => fieldPath(meta, property, '.'));
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
