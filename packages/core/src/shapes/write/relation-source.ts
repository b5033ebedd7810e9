import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { type TObject, type TSchema, Type } from 'typebox';
import { ImproperlyConfigured } from '../../errors.ts';
import { FileField } from '../../files/file-field.ts';
import { declaredMetadata } from '../../fields/declared-metadata.ts';
import { isReference, isToMany, onlyPrimaryKey, targetOf } from '../../fields/property.ts';
import { referenceTo } from '../../fields/reference-to.ts';
import { withKeyword, withOnly, withProperties } from '../schema-object.ts';
import { shapeField } from '../shape-field.ts';
import { Renamed } from './renamed-field.ts';
import { DEFAULT_MAX_REFERENCES, Nested, Refs } from './to-many-input.ts';
import { writeSchema } from '../wire-format.ts';

/** How a write shape accepts a relation. Without a source, a to-one relation is its primary key. */
export type RelationSource =
  /** A related record, by one of its unique fields. */
  | { readonly kind: 'one'; readonly key: string }
  /** A list of related records, by a unique field. Undefined: by the primary key. */
  | { readonly kind: 'refs'; readonly key: string | undefined; readonly max: number; readonly create: boolean }
  /** The children of the record. */
  | { readonly kind: 'nested'; readonly nested: Nested<object, object> }
  /** Not a relation, but a file of the record. */
  | { readonly kind: 'file'; readonly field: FileField };

/** The property that a field of a write shape writes. */
export interface FieldSource {
  readonly property: string;
  /** Undefined for a column, and for a to-one relation by its primary key. */
  readonly relation: RelationSource | undefined;
}

/**
 * The properties that a write shape writes, by the names of their fields in a body. A missing field writes the property
 * of the same name.
 */
export type FieldSources = ReadonlyMap<string, FieldSource>;

/**
 * Splits the override of a field into the written property and the rest of the override. A path may select another
 * property only if no property has the name of the field.
 */
export function writtenTo(
  { properties }: EntityMetadata,
  name: string,
  override: unknown,
): { readonly property: string; readonly source: unknown } {
  if (override instanceof Renamed) return override as Renamed<string, unknown>;
  const path = override instanceof Refs ? (override as Refs).path : override;
  if (typeof path !== 'string' || Object.hasOwn(properties, name)) return { property: name, source: override };
  const [property] = path.split('.') as [string];
  return { property, source: override === property ? undefined : override };
}

/**
 * Reads the override of a field as a relation. Undefined if it is not a relation, or if the field has no override.
 *
 * @throws ImproperlyConfigured if the override does not fit the relation
 */
export function relationSource(meta: EntityMetadata, name: string, source: unknown): RelationSource | undefined {
  if (typeof source === 'string') return { kind: 'one', key: keyOf(meta, name, source) };
  if (source instanceof Refs) {
    const { path, max, create } = source as Refs;
    const key = path === name ? undefined : keyOf(meta, name, path);
    if (create && key === undefined) {
      throw new ImproperlyConfigured(
        `${meta.className}: refs('${path}') with "create" must name a unique field, refs('${path}.<field>'), because records are not created by their keys`,
      );
    }
    return { kind: 'refs', key, max, create };
  }
  if (source instanceof FileField) return { kind: 'file', field: source as FileField };
  if (source instanceof Nested) return { kind: 'nested', nested: source as Nested<object, object> };
  const property = meta.properties[name as never] as EntityProperty | undefined;
  if (source !== undefined || property === undefined || !isToMany(property)) return undefined;
  return { kind: 'refs', key: undefined, max: DEFAULT_MAX_REFERENCES, create: false };
}

/**
 * Returns the `name` of `role.name`. @throws ImproperlyConfigured unless the path is the field's own relation and one
 * field of it
 */
function keyOf(meta: EntityMetadata, name: string, path: string): string {
  const key = path.startsWith(`${name}.`) ? path.slice(name.length + 1) : '';
  if (key !== '' && !key.includes('.')) return key;
  throw new ImproperlyConfigured(
    `${meta.className}: a reference is written { ${name}: '${name}.<field>' }, one unique field of the related record, got "${path}"`,
  );
}

/** Makes the POST schema of a list of references or children. */
export function listSchema(
  meta: EntityMetadata,
  name: string,
  source: Extract<RelationSource, { readonly kind: 'refs' | 'nested' }>,
): TSchema {
  if (source.kind === 'nested') return Type.Array(source.nested.shape.schema, { maxItems: source.nested.max });
  const target = relatedMeta(meta, name);
  const key = source.key ?? keyName(target);
  const field = shapeField(target, key);
  const item = { ...writeSchema(field, false), ...referenceTo(target, field.property) };
  return Type.Array(item, { maxItems: source.max });
}

/**
 * Makes the PUT schema from the POST schema. It omits children that only a POST writes. Objects of other children may
 * name the child to change.
 */
export function replacementOf(schema: TObject, sources: FieldSources): TObject {
  const children = [...sources].filter(([, { relation }]) => relation?.kind === 'nested');
  if (children.length === 0) return schema;
  const properties = { ...schema.properties };
  for (const [name, { relation }] of children) {
    const { nested } = relation as Extract<RelationSource, { readonly kind: 'nested' }>;
    if (nested.update) {
      const items = { anyOf: [changeSchema(nested), nested.shape.schema] };
      properties[name] = withKeyword(properties[name]!, 'items', items);
    } else {
      delete properties[name];
    }
  }
  return withOnly(schema, properties);
}

/** Makes the schema of an object that changes a child. */
function changeSchema({ shape }: Nested<object, object>): TSchema {
  const meta = declaredMetadata(shape.entity);
  const key = keyName(meta);
  if (
    key in shape.schema.properties ||
    shape.writes(key) ||
    isReference(meta.properties[key as never] as unknown as EntityProperty)
  ) {
    throw new ImproperlyConfigured(
      `nested(): with "update" an object names its child by the primary key "${key}" of ${meta.className}, so the shape may not ` +
        'write the key, nor may it be a relation',
    );
  }
  const properties = { [key]: writeSchema(shapeField(meta, key), false), ...shape.partial.properties };
  return Object.assign(withProperties(shape.partial, properties), { required: [key] });
}

/** Returns the target entity of a to-many relation. @throws ImproperlyConfigured for another property */
export function relatedMeta(meta: EntityMetadata, name: string): EntityMetadata {
  const property = meta.properties[name as never] as EntityProperty | undefined;
  const target = property === undefined ? undefined : targetOf(property);
  if (property !== undefined && target !== undefined && isToMany(property)) return target;
  throw new ImproperlyConfigured(`${meta.className}: "${name}" is not a to-many relation`);
}

/**
 * Returns the name of an entity's primary key. Works before and after the ORM has discovered the entity.
 *
 * @throws ImproperlyConfigured unless the key is a single property
 */
export function keyName(meta: EntityMetadata): string {
  const key = onlyPrimaryKey(meta);
  if (key !== undefined) return key.name;
  throw new ImproperlyConfigured(`${meta.className} has no single primary key, so a list cannot refer to its records`);
}
