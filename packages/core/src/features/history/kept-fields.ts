import type { EntityMetadata, EntityProperty, Platform } from '@mikro-orm/core';
import { type TSchema, Type } from 'typebox';
import { findFieldPath } from '../../fields/field-path.ts';
import { isEmbeddable, isToMany, isToOne, ownsColumn, targetOf } from '../../fields/property.ts';
import { isFile, type StoredFile } from '../../files/file-type.ts';
import type { ShapeProjection } from '../../query/language/projection.ts';
import { compileProjection } from '../../shapes/read/projection.ts';
import { computed, type ReadField } from '../../shapes/read/read-field.ts';
import { fieldOf } from '../../shapes/read/read-shape.ts';
import { nullableObject } from '../../shapes/schema-object.ts';

/**
 * Compiles how a history reads a record: each stored column that is not declared hidden, by property. A to-one relation
 * is the key of the related record, an embeddable an object, and a file its name, size and type.
 */
export function keptProjection(meta: EntityMetadata, platform: Platform): ShapeProjection<object> {
  return compileProjection<object>(meta, platform, keptFields(meta));
}

/** Reports whether a history keeps a property. A reference by several columns is not kept. */
export function isKept(meta: EntityMetadata, property: EntityProperty): boolean {
  const { name, persist, formula, hidden, embedded } = property;
  if (persist === false || formula !== undefined || hidden === true || embedded !== undefined) return false;
  if (isToMany(property) || (isToOne(property) && !ownsColumn(property))) return false;
  return isEmbeddable(property) || typeof findFieldPath(meta, name, '.') !== 'string';
}

function keptFields(meta: EntityMetadata): readonly ReadField[] {
  return Object.entries<EntityProperty>(meta.properties)
    .filter(([, property]) => isKept(meta, property))
    .map(([name, property]) => keptField(meta, name, property));
}

function keptField(meta: EntityMetadata, name: string, property: EntityProperty): ReadField {
  if (isFile(property)) return fieldOf(meta, name, fileFacts(name));
  if (!isEmbeddable(property)) return fieldOf(meta, name, name);
  if (property.array === true) return fieldOf(meta, name, Type.Array(Type.Unknown()));
  const fields = keptFields(targetOf(property)!);
  const schema = Type.Object(Object.fromEntries(fields.map((field) => [field.name, field.schema])));
  return { name, path: name, fields, schema: property.nullable === true ? nullableObject(schema) : schema };
}

/** Clients never see the key of a file in its store. */
function fileFacts(name: string) {
  return computed<Readonly<Record<string, StoredFile | null>>, string, TSchema>(Type.Unknown(), [name], (record) => {
    const stored = record[name] as StoredFile | null;
    return stored && { name: stored.name, size: stored.size, type: stored.type };
  });
}
