import type { EntityMetadata, EntityProperty, Platform } from '@mikro-orm/core';
import type { TSchema } from 'typebox';
import type { FieldType } from '../fields/field-kind.ts';
import { FIELD_KINDS, type WireType } from '../fields/field-kinds.ts';
import { isEmbeddable, isToOne, partsOf, targetOf } from '../fields/property.ts';
import { FILE_LINK, isFile } from '../files/file-type.ts';
import { keyOf } from '../mikro/entity-reader.ts';
import { nullableObject, withKeyword } from './schema-object.ts';
import { type ShapeField, shapeField } from './shape-field.ts';

/** Derives the schema of a field in a response. */
export function readSchema(field: ShapeField): TSchema {
  if (isFile(field.property)) return field.nullable ? nullableObject(FILE_LINK) : FILE_LINK;
  return schemaOf(field, {});
}

/** Derives the schema of a field in a body, with the limits of its column. `blank`: the empty string is valid. */
export function writeSchema(field: ShapeField, blank: boolean): TSchema {
  const { type, list, custom } = field;
  if (custom) return {};
  return schemaOf(field, list ? { items: elementSchema(field) } : FIELD_KINDS[type.kind].bounds(type, blank));
}

/** Derives the schema of an element of a list. */
function elementSchema(list: ShapeField): TSchema {
  const { element } = list;
  if (element === undefined) return { type: ['string', 'number'] };
  return writeSchema({ ...list, type: element, list: false, nullable: false }, true);
}

/**
 * Makes one schema of several types (`['string', 'null']`) for a nullable value. A serializer would have to try the
 * members of a union.
 */
function schemaOf(field: ShapeField, constraints: object): TSchema {
  const { type, nullable, custom, list } = field;
  const wire = wireType(field);
  const values = type.kind === 'enum' && !custom && !list ? type.values : undefined;
  const orNull = nullable ? [null] : [];
  return {
    ...wire,
    ...(nullable && wire.type !== undefined && { type: [wire.type, 'null'] }),
    ...(values !== undefined && { enum: [...values, ...orNull] }),
    ...constraints,
  };
}

/** The schema keywords for the limits of a column. */
export function columnBounds({ type, list, custom }: ShapeField): object {
  return custom || list ? {} : FIELD_KINDS[type.kind].bounds(type, true);
}

/** Adds the limits of a column to a schema, or to the members of a union, unless the schema is already stricter. */
export function withinBounds(schema: TSchema, columns: object): TSchema {
  const facts = schema as Readonly<Record<string, unknown>>;
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, maxLength, type, anyOf } = facts;
  if (Array.isArray(anyOf)) {
    const members = (anyOf as readonly TSchema[]).map((member) => withinBounds(member, columns));
    return members.every((member, index) => member === anyOf[index]) ? schema : withKeyword(schema, 'anyOf', members);
  }
  if (type === undefined || type === 'null' || 'const' in facts) return schema;
  const isNarrower: Readonly<Record<string, (bound: number) => boolean>> = {
    minimum: (bound) => Number(minimum ?? -Infinity) >= bound || Number(exclusiveMinimum ?? -Infinity) >= bound,
    maximum: (bound) => Number(maximum ?? Infinity) <= bound || Number(exclusiveMaximum ?? Infinity) <= bound,
    maxLength: (bound) => Number(maxLength ?? Infinity) <= bound,
  };
  const added = Object.entries(columns).filter(([keyword, bound]) => {
    const isKnown = isNarrower[keyword]?.(bound as number) ?? facts[keyword] !== undefined;
    return !isKnown;
  });
  return added.length === 0 ? schema : { ...schema, ...Object.fromEntries(added) };
}

/** The JSON type and format of a column's values. Empty for a type that the application wrote. */
export function wireType({ type, list, custom }: Pick<ShapeField, 'type' | 'list' | 'custom'>): WireType {
  if (custom) return {};
  return list ? { type: 'array' } : FIELD_KINDS[type.kind].wireType(type);
}

/**
 * Makes the function that converts an entity's value of a column, never null, to the response's value. Undefined if
 * both are the same.
 */
export function wireWriter(
  { type, property, list, element, custom }: ShapeField,
  platform: Platform,
): ((value: never) => unknown) | undefined {
  if (custom) {
    const { customType } = property;
    return customType === undefined ? undefined : (value): unknown => customType.toJSON(value, platform);
  }
  return list ? listWriter(element) : FIELD_KINDS[type.kind].writer(type);
}

function listWriter(element: FieldType | undefined): ((values: readonly unknown[]) => unknown) | undefined {
  const write = element && (FIELD_KINDS[element.kind].writer(element) as ((value: unknown) => unknown) | undefined);
  return write && ((values) => values.map((value) => (value === null ? null : write(value))));
}

/**
 * How an embeddable shows a missing value: null, as in a derived schema, or nothing, which an application's schema may
 * allow.
 */
export type Absent = 'null' | 'nothing';

/**
 * Makes the function that writes an embeddable, or a list of them, from one column: each property is written like a
 * separate column. Hidden properties are left out.
 */
export function embeddableWriter(
  property: EntityProperty,
  platform: Platform,
  absent: Absent,
): (value: unknown) => unknown {
  const write = objectWriter(targetOf(property) as EntityMetadata, platform, absent);
  return (value) => (Array.isArray(value) ? value.map(write) : write(value));
}

function objectWriter(meta: EntityMetadata, platform: Platform, absent: Absent): (value: unknown) => unknown {
  const shown = partsOf(meta).filter(({ hidden }) => hidden !== true);
  const parts = shown.map((property) => {
    const { name } = property;
    const write = isEmbeddable(property)
      ? embeddableWriter(property, platform, absent)
      : (wireWriter(shapeField(meta, name), platform) as ((value: unknown) => unknown) | undefined);
    return { name, isKey: isToOne(property), write };
  });
  return (value) => {
    if (value === null || typeof value !== 'object') return value;
    const values = value as Readonly<Record<string, unknown>>;
    const object: Record<string, unknown> = {};
    for (const { name, isKey, write } of parts) {
      const held = values[name];
      if (held === undefined && absent === 'nothing') continue;
      const plain = (isKey ? keyOf(held) : held) ?? null;
      object[name] = write === undefined || plain === null ? plain : write(plain);
    }
    return object;
  };
}
