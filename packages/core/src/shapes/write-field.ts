import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { TSchema } from 'typebox';
import { ImproperlyConfigured } from '../errors.ts';
import { isToMany } from '../fields/field-path.ts';
import { type ShapeField, declaredProperty, isToOne, primaryKeyOf } from './shape-field.ts';

/** One field of a body. */
export interface WriteField {
  readonly name: string;
  /** The schema that the user wrote for the field; undefined: derived from the column. */
  readonly schema: TSchema | undefined;
  /** The field of the related record by which a reference is made, `name` of `role.name`; undefined: its primary key. */
  readonly naturalKey: string | undefined;
  /** True if the field may be left out; undefined: if its column can do without. */
  readonly optional: boolean | undefined;
}

/** Tells if a record can be created without a value for the column. */
export function canBeLeftOut({ property, type, nullable }: ShapeField): boolean {
  const isNumbered = property.primary === true && (type.kind === 'integer' || type.kind === 'bigint');
  return (
    nullable ||
    property.default !== undefined ||
    property.defaultRaw !== undefined ||
    property.onCreate !== undefined ||
    property.version === true ||
    // A whole number that is a primary key is made by the database, unless the entity says otherwise.
    (property.autoincrement ?? isNumbered)
  );
}

/** @throws ImproperlyConfigured for a property that no client can write: computed by the database, or on the other side */
export function checkWritableProperty(meta: EntityMetadata, name: string, property: EntityProperty): void {
  const owner = `${meta.className}.${name}`;
  if (property.formula !== undefined || property.generated !== undefined) {
    throw new ImproperlyConfigured(`${owner} is computed by the database, so a write shape cannot hold it`);
  }
  if (isToMany(property)) {
    throw new ImproperlyConfigured(
      `${owner} leads to many records, which a write shape cannot hold; write them in a hook of the view`,
    );
  }
  if (property.kind === ReferenceKind.ONE_TO_ONE && property.mappedBy !== undefined) {
    throw new ImproperlyConfigured(`${owner} has its column at the other side, so a write shape cannot hold it`);
  }
}

/** The names in `role.name`. @throws ImproperlyConfigured where it is not the field's own relation and one field of it */
export function naturalKeyOf(meta: EntityMetadata, name: string, path: string): string {
  const [relation, key, ...more] = path.split('.');
  if (relation !== name || key === undefined || more.length > 0) {
    throw new ImproperlyConfigured(
      `${meta.className}: a reference is written { ${name}: '${name}.<field>' }, one unique field of the related record, but "${path}" came`,
    );
  }
  return key;
}

/** @throws ImproperlyConfigured where several records may have the same value */
export function checkUnique(target: EntityMetadata, key: string): void {
  const property = declaredProperty(target, key);
  const isPrimary = property.primary === true && primaryKeyOf(target) === key;
  const alone = [...(target.uniques ?? [])].some(({ properties }) => [properties].flat().join() === key);
  if (isPrimary || alone || (property.unique !== undefined && property.unique !== false)) return;
  throw new ImproperlyConfigured(`${target.className}.${key} is not unique, so no reference can be made by it`);
}

/** @throws ImproperlyConfigured for what is no relation to one record */
export function checkRelation(meta: EntityMetadata, name: string, property: EntityProperty): void {
  if (!isToOne(property)) throw new ImproperlyConfigured(`${meta.className}.${name} is not a relation to one record`);
}
