import { ArrayType, type EntityManager, type EntityProperty, type Platform } from '@mikro-orm/core';
import type { FieldKind, FieldType } from '../fields/field-kind.ts';
import { rememberSchemas } from '../fields/declared-metadata.ts';
import { elementType } from '../fields/field-type.ts';
import { valueProperty } from '../fields/property.ts';
import { dateReader, readNumber } from '../fields/value-reader.ts';

/** Replaces how a platform writes the elements of a list, `p.array()`, as one text. */
export function storeLists(platform: Platform, textOf: (elements: readonly unknown[]) => string): void {
  platform.marshallArray = textOf;
}

type Convert = (value: unknown) => unknown;

const prepared = new WeakSet<object>();

/**
 * Makes an ORM read the elements of all lists in the types that the entities declare. MikroORM reads most of them as
 * texts, and a NULL through `p.array((text) => +text)` as 0.
 */
export function readElements(em: EntityManager): void {
  const metadata = em.getMetadata();
  if (prepared.has(metadata)) return;
  prepared.add(metadata);
  rememberSchemas(em.config.get('entities', []));
  const properties = [...metadata.getAll().values()].flatMap(({ props }) => props);
  for (const property of properties) prepareList(property, em.getPlatform());
}

function prepareList(property: EntityProperty, platform: Platform): void {
  const type: unknown = property.customType;
  if (!(type instanceof ArrayType) || prepared.has(type)) return;
  prepared.add(type);
  const list = type as unknown as { toJsValue: Convert };
  const element = elementType(property);
  const read = (element && READERS[element.kind]?.(element, platform)) ?? list.toJsValue;
  list.toJsValue = (raw) => (raw === null ? null : read(raw));
}

/** The kinds whose elements are not texts. An element may also be a value that the driver has already converted. */
const READERS: Readonly<Partial<Record<FieldKind, (type: FieldType, platform: Platform) => Convert>>> = {
  integer: () => readNumber,
  number: () => readNumber,
  bigint: ({ mode }) => (mode === 'number' ? Number : mode === 'string' ? String : (raw) => BigInt(raw as string)),
  decimal: ({ mode }) => (mode === 'number' ? Number : String),
  boolean: () => (raw) => raw === true || raw === 'true',
  datetime: (_type, platform) => dateReader(platform),
};

/** Converts an element of a list to the form in which MikroORM stores it. */
export function storedElement(property: EntityProperty, element: unknown): unknown {
  const type: unknown = valueProperty(property).customType;
  return type instanceof ArrayType ? (type as unknown as { toDbValue: Convert }).toDbValue(element) : element;
}
