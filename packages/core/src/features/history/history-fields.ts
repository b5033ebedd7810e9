import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { type TSchema, Type } from 'typebox';
import { findFieldPath } from '../../fields/field-path.ts';
import { isEmbeddable, isToOne, referredKey } from '../../fields/property.ts';
import { isFile } from '../../files/file-type.ts';
import { getOrMake } from '../../support/get-or-make.ts';
import { isRecord } from '../../support/json.ts';
import type { ReadField } from '../../shapes/read/read-field.ts';
import type { ReadShape } from '../../shapes/read/read-shape.ts';
import { shapeField } from '../../shapes/shape-field.ts';
import { readSchema } from '../../shapes/wire-format.ts';
import { isKept } from './kept-fields.ts';

/** A field of a read shape of `retrieve`, whose values a history shows. */
export interface KeptField {
  /** The name of the field in the read shape. For a field inside a related record, the name of the relation. */
  readonly name: string;
  /** The property with the values, in `KeptValues`. */
  readonly property: string;
  /** The schema of the field in responses. */
  readonly schema: TSchema;
  /** Limits a kept object to the parts that the read shape shows. Undefined: a reader may see all of the value. */
  readonly show?: ((value: unknown) => unknown) | undefined;
}

type AnyShape = ReadShape<object, object>;

const stored = new WeakMap<AnyShape, readonly KeptField[]>();
const shown = new WeakMap<AnyShape, readonly KeptField[]>();

/** Lists the fields of a shape that show a kept value exactly as a history has it. */
export function storedFields(meta: EntityMetadata, shape: AnyShape): readonly KeptField[] {
  return getOrMake(stored, shape, () =>
    shape.fields.flatMap(({ name, path, schema, computed, relatedValue, many, fields: parts }) => {
      const isColumn = (computed ?? relatedValue ?? many ?? parts) === undefined;
      const property = isColumn ? storedProperty(meta, path) : undefined;
      return property === undefined ? [] : [{ name, property, schema }];
    }),
  );
}

/**
 * Lists the fields of a shape whose changes a history shows: `storedFields`, embeddables, files, and the keys of related
 * records of which the shape shows anything.
 */
export function shownFields(meta: EntityMetadata, shape: AnyShape): readonly KeptField[] {
  return getOrMake(shown, shape, () => {
    const exact = storedFields(meta, shape);
    const known = new Set(exact.map(({ property }) => property));
    const further = shape.fields.flatMap((field) => furtherField(meta, field) ?? []);
    const added = new Map(
      further.filter(({ property }) => !known.has(property)).map((field) => [field.property, field]),
    );
    return [...exact, ...added.values()];
  });
}

/** Lists the fields of all readers. A property has the names that the first shape gives it. */
export function fieldsOfAll(meta: EntityMetadata, shapes: readonly AnyShape[]): readonly KeptField[] {
  const all: KeptField[] = [];
  for (const shape of shapes) {
    const known = new Set(all.map(({ property }) => property));
    all.push(...shownFields(meta, shape).filter(({ property }) => !known.has(property)));
  }
  return all;
}

/** Limits the fields of all readers to those of one, under the names that all readers have. */
export function fieldsForReader(all: readonly KeptField[], reader: readonly KeptField[]): readonly KeptField[] {
  const byProperty = new Map(reader.map((field) => [field.property, field]));
  return all.flatMap((field) => {
    const ofReader = byProperty.get(field.property);
    return ofReader === undefined ? [] : [{ ...field, show: ofReader.show }];
  });
}

/** Returns the field for a change that has another form in the read shape; undefined if a history shows none. */
function furtherField(
  meta: EntityMetadata,
  { path, schema, computed, relatedValue, many }: ReadField,
): KeptField | undefined {
  if ((computed ?? relatedValue ?? many) !== undefined) return undefined;
  const [name = ''] = path.split('.');
  const property = meta.properties[name as never] as EntityProperty | undefined;
  if (property === undefined || !isKept(meta, property)) return undefined;
  if (isToOne(property)) return { name, property: name, schema: readSchema(shapeField(meta, name)) };
  if (isFile(property)) return { name, property: name, schema: KEPT_FILE };
  // A single part of an embeddable may have any name in the shape.
  if (!isEmbeddable(property) || path !== name) return undefined;
  return { name, property: name, schema: withOptionalParts(schema), show: (value) => partsIn(value, schema) };
}

/** A file as a history has it. Its bytes may be deleted. */
const KEPT_FILE = Type.Union([
  Type.Object({ name: Type.String(), size: Type.Integer(), type: Type.String() }),
  Type.Null(),
]);

interface ObjectSchema {
  readonly anyOf?: readonly TSchema[];
  readonly properties?: Readonly<Record<string, TSchema>>;
}

/** Makes the parts of an object optional: an entry may be older than a part. */
function withOptionalParts(schema: TSchema): TSchema {
  const { anyOf, properties } = schema as ObjectSchema;
  if (anyOf !== undefined) return Type.Union(anyOf.map(withOptionalParts));
  if (properties === undefined) return schema;
  const parts = Object.entries(properties).map(([name, part]) => [name, Type.Optional(withOptionalParts(part))]);
  return Type.Object(Object.fromEntries(parts) as Record<string, TSchema>);
}

/** Limits an object to the parts that a schema has. */
function partsIn(value: unknown, schema: TSchema): unknown {
  const { anyOf, properties } = schema as ObjectSchema;
  const object = anyOf?.find((each) => (each as ObjectSchema).properties !== undefined);
  if (object !== undefined) return partsIn(value, object);
  if (properties === undefined || !isRecord(value)) return value;
  const parts = Object.entries(properties).filter(([name]) => Object.hasOwn(value, name));
  return Object.fromEntries(parts.map(([name, part]) => [name, partsIn(value[name], part)]));
}

/**
 * Returns the property of the record whose stored value a path shows; `author` also for `author.id`. Undefined for
 * other values.
 */
function storedProperty(meta: EntityMetadata, path: string): string | undefined {
  const found = findFieldPath(meta, path, '.');
  if (typeof found === 'string') return undefined;
  const { steps, property } = found;
  const [step] = steps;
  const column = step !== undefined && isToOne(step) && referredKey(step) === property ? step : property;
  const isOfRecord = steps.length === 0 || (steps.length === 1 && column === step);
  return isOfRecord && isKept(meta, column) && !isFile(column) && !isEmbeddable(column) ? column.name : undefined;
}
