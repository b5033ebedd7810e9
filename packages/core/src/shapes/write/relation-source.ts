import type { EntityMetadata, EntityName, EntityProperty } from '@mikro-orm/core';
import { type TObject, type TSchema, Type } from 'typebox';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { FileField } from '../../files/file-field.ts';
import { declaredMetadata } from '../../fields/declared-metadata.ts';
import { isToMany, onlyPrimaryKey, ownsColumn, targetOf } from '../../fields/property.ts';
import { referenceTo } from '../../fields/reference-to.ts';
import { nullableObject, withKeyword, withOnly, withProperties } from '../schema-object.ts';
import { shapeField } from '../shape-field.ts';
import { childKey, tieOf } from './children.ts';
import { Renamed } from './renamed-field.ts';
import { DEFAULT_MAX_REFERENCES, Nested, Refs } from './to-many-input.ts';
import { writeSchema } from '../wire-format.ts';

/** How a write shape accepts a relation. Without a source, a to-one relation is its primary key. */
export type RelationSource =
  /** A related record, by one of its unique fields. */
  | { readonly kind: 'one'; readonly key: string }
  /** A list of related records, by a unique field. Undefined: by the primary key. */
  | { readonly kind: 'refs'; readonly key: string | undefined; readonly max: number; readonly create: boolean }
  /** The children of the record, or one related record. */
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

/** Makes the POST schema of references, children, or one nested record. */
export function relatedSchema(
  meta: EntityMetadata,
  name: string,
  source: Extract<RelationSource, { readonly kind: 'refs' | 'nested' }>,
): TSchema {
  if (source.kind === 'nested') {
    const { shape, max } = source.nested;
    const isOne = tieOf(meta, name, source.nested).isOne;
    return isOne ? recordSchema(meta, name, shape.schema) : Type.Array(shape.schema, { maxItems: max });
  }
  const target = relatedMeta(meta, name);
  const key = source.key ?? keyName(target);
  const field = shapeField(target, key);
  const item = { ...writeSchema(field, false), ...referenceTo(target, field.property) };
  return Type.Array(item, { maxItems: source.max });
}

/** True if a nested record may be null. Nothing requires a record on the side that has no column. */
export function isNullableRecord({ nullable, ...property }: EntityProperty): boolean {
  return ownsColumn(property) ? nullable === true : nullable !== false;
}

function recordSchema(meta: EntityMetadata, name: string, schema: TObject): TSchema {
  const property = meta.properties[name as never] as EntityProperty;
  return isNullableRecord(property) ? nullableObject(schema) : schema;
}

/** True if a record can be created without a nested record. */
export function isOptionalRecord(meta: EntityMetadata, name: string): boolean {
  const property = meta.properties[name as never] as EntityProperty;
  return isToMany(property) || isNullableRecord(property);
}

/** The schemas of PUT and PATCH. */
interface UpdateSchemas {
  readonly replacement: TObject;
  readonly partial: TObject;
}

/**
 * Makes the schemas of PUT and PATCH from the POST schema. They omit nested records that only a POST writes. Other
 * objects may name the record to change.
 *
 * @param patchOf makes the schema of PATCH from the schema of PUT
 */
export function updatesOf(
  entity: EntityName,
  schema: TObject,
  sources: FieldSources,
  patchOf: (replacement: TObject) => TObject,
): UpdateSchemas {
  const nestedFields = [...sources].flatMap(([name, { property, relation }]) =>
    relation?.kind === 'nested' && name in schema.properties ? [{ name, property, nested: relation.nested }] : [],
  );
  if (nestedFields.length === 0) return { replacement: schema, partial: patchOf(schema) };
  const meta = declaredMetadata(entity);
  const replaced = { ...schema.properties };
  const changed: Record<string, TSchema> = {};
  for (const { name, property, nested } of nestedFields) {
    if (!nested.update) {
      delete replaced[name];
    } else if (tieOf(meta, property, nested).isOne) {
      const optional = (one: TSchema): TSchema => (Type.IsOptional(schema.properties[name]) ? Type.Optional(one) : one);
      const { shape } = nested;
      replaced[name] = optional(recordSchema(meta, property, withKey(nested, shape.replacement)));
      changed[name] = recordSchema(meta, property, withKey(nested, shape.partial));
    } else {
      const items = { anyOf: [changeSchema(nested), nested.shape.schema] };
      replaced[name] = withKeyword(replaced[name]!, 'items', items);
    }
  }
  const replacement = withOnly(schema, replaced);
  const partial = patchOf(replacement);
  return { replacement, partial: withProperties(partial, { ...partial.properties, ...changed }) };
}

/** Makes the schema of an object that changes a child. */
function changeSchema(nested: Nested<object, object>): TSchema {
  const meta = declaredMetadata(nested.shape.entity);
  const key = keyName(meta);
  if (childKey(meta) === undefined) throw keyConflict(meta, key);
  return Object.assign(withKey(nested, nested.shape.partial), { required: [key] });
}

/** Adds the primary key to the schema of an object, if an object can name its record. */
function withKey({ shape }: Nested<object, object>, schema: TObject): TObject {
  const meta = declaredMetadata(shape.entity);
  const key = childKey(meta);
  if (key === undefined) return schema;
  if (key in shape.schema.properties || shape.writes(key)) throw keyConflict(meta, key);
  return withProperties(schema, { [key]: writeSchema(shapeField(meta, key), false), ...schema.properties });
}

function keyConflict({ className }: EntityMetadata, key: string): ImproperlyConfigured {
  return new ImproperlyConfigured(
    `nested(): with "update" an object names its child by the primary key "${key}" of ${className}, so the shape may not ` +
      'write the key, nor may it be a relation',
  );
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
