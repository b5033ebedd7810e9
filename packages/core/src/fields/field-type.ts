import {
  ArrayType,
  BigIntType,
  BlobType,
  DecimalType,
  type EntityMetadata,
  type EntityProperty,
  JsonType,
  Platform,
  ReferenceKind,
  StringType,
  Type,
  Uint8ArrayType,
  Utils,
  UuidType,
  types,
} from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors/errors.ts';
import type { FieldKind, FieldType } from './field-kind.ts';
import { FIELD_KINDS } from './field-kinds.ts';
import { declarationOf } from './declared-metadata.ts';
import { isInlineEmbeddable, targetOf, valueProperty } from './property.ts';

/** Returns the custom type that the application wrote for a property. Undefined for a built-in type, or none. */
export function customTypeOf(property: EntityProperty): Type<unknown> | undefined {
  const type = givenType(valueProperty(property));
  return type === undefined || BUILT_IN.has(type.constructor) ? undefined : type;
}

/** True for a column that holds a list of values: `p.array()`, an array of an enum's values. */
export function isList(property: EntityProperty): boolean {
  if (property.kind === ReferenceKind.EMBEDDED) return false;
  return property.array === true || givenType(property) instanceof ArrayType;
}

/**
 * Returns the type of the elements of a list, from its declaration: `p.integer().array()`, `p.array((text) => +text)`.
 * Undefined for elements of an application's own type.
 */
export function elementType(property: EntityProperty): FieldType | undefined {
  const { array, ...declared } = listDeclaration(property);
  const values = declared.enum ? enumValues(declared.items) : undefined;
  if (values !== undefined) return { kind: 'enum', values };
  const given = givenType(declared);
  if (array === true && !(given instanceof ArrayType)) {
    const element = withoutBrackets(declared);
    return customTypeOf(element) === undefined ? fieldType(element) : undefined;
  }
  const ofElement = withoutBrackets({ ...declared, runtimeType: 'string' } as EntityProperty);
  const kind = KIND_OF_COLUMN.get(columnName({ ...ofElement, columnTypes: ofElement.columnTypes ?? [] })) ?? 'string';
  return kind === 'string' ? elementReadBy(given) : ofColumn(ofElement);
}

/** Returns the type of what the function of a list, `p.array((text) => +text)`, makes of a text. */
function elementReadBy(type: Type<unknown> | undefined): FieldType | undefined {
  if (type === undefined) return { kind: 'string' };
  try {
    const [element] = type.convertToJSValue(['1'], platform) as [unknown];
    const kind = KIND_OF_ELEMENT[typeof element];
    return kind && { kind };
  } catch {
    return undefined;
  }
}

const KIND_OF_ELEMENT: Readonly<Record<string, FieldKind | undefined>> = {
  string: 'string',
  number: 'number',
  boolean: 'boolean',
};

/** Discovery replaces the type of the elements by the type of the list. So this returns what was declared. */
function listDeclaration(property: EntityProperty): EntityProperty {
  const { customType, embedded } = property;
  const owner: EntityMetadata | undefined = customType?.meta;
  if (owner === undefined || property.array !== true) return property;
  const embedding: EntityProperty | undefined = embedded && owner.properties[embedded[0] as never];
  const meta = embedding === undefined ? declarationOf(owner.class) : targetOf(embedding);
  const declared: EntityProperty | undefined = meta?.properties[(embedded?.[1] ?? property.name) as never];
  if (declared === undefined) return property;
  return embedding === undefined ? { ...declared, name: property.name } : listDeclaration(declared);
}

/** `int[]` → `int` */
function withoutBrackets(property: EntityProperty): EntityProperty {
  const { columnTypes, columnType } = property as { columnTypes?: readonly string[]; columnType?: string };
  const column = columnTypes?.[0] ?? columnType;
  if (column === undefined) return property;
  const type = column.replace(/\[\]$/, '');
  return { ...property, columnType: type, columnTypes: [type] } as EntityProperty;
}

const BUILT_IN: ReadonlySet<unknown> = new Set(Object.values(types));

/** Returns the type of a property that was declared with a type object or class, not with a name. */
function givenType({ customType, type }: Pick<EntityProperty, 'customType' | 'type'>): Type<unknown> | undefined {
  const given: unknown = customType ?? type;
  if (Type.isMappedType(given)) return given as Type<unknown>;
  if (typeof given !== 'function' || !Type.isMappedType(given.prototype)) return undefined;
  return Type.getType(given as unknown as new () => Type<unknown>);
}

/** The database of an entity before discovery. It has a separate column type for every type. */
class AnyPlatform extends Platform {}
const platform = new AnyPlatform();

/**
 * Completes a builder's declaration like MikroORM's discovery, so that one derivation works before and after discovery.
 */
function completeProperty(property: EntityProperty): EntityProperty {
  if (property.columnTypes !== undefined && property.runtimeType !== undefined) return property;
  const { type, columnType } = property as { readonly type: unknown; readonly columnType?: string };
  const column = property.columnTypes?.[0] ?? columnType;
  const given = givenType(property);
  if (given === undefined && (type ?? column) === undefined) {
    throw new ImproperlyConfigured(
      `"${property.name}" has no type before MikroORM has read the sources; declare it: @Property({ type: 'string' })`,
    );
  }
  const isCustom = given !== undefined && !BUILT_IN.has(given.constructor);
  // If a column type is declared beside one of MikroORM's type classes, the column type wins. A type object, or a type
  // of the application, wins over the column type.
  const isName = given === undefined || (!isCustom && column !== undefined && typeof type === 'function');
  const customType = isName ? platform.getDefaultMappedType(column ?? nameOf(type)) : given;
  const columnTypes = [column ?? (isCustom ? '' : customType.getColumnType(property, platform))];
  return { ...property, customType, runtimeType: property.runtimeType ?? customType.runtimeType, columnTypes };
}

function nameOf(type: unknown): string {
  const name = typeof type === 'function' ? type.name : type;
  return name === 'Date' ? 'datetime' : typeof name === 'string' ? name : '';
}

/**
 * Returns the type of a property; for a relation, the type of the key that it refers to. The result is the same before
 * and after discovery. On every database, integers count as 32 bits wide unless they are declared smaller or bigger,
 * and strings without a length as 255 characters. So validation does not depend on the database.
 * @throws ImproperlyConfigured for a property without a column: an inline embeddable, a polymorphic relation; for a
 * property of a decorated class whose type is only in the source code
 */
export function fieldType(property: EntityProperty): FieldType {
  if (isInlineEmbeddable(property)) {
    throw new ImproperlyConfigured(`"${property.name}" is an embeddable of several columns; name one of its fields`);
  }
  const declared = valueProperty(property);
  if (declared.kind === ReferenceKind.EMBEDDED) return { kind: 'json' };
  if (isList(declared)) return listType(declared);
  const values = declared.enum ? enumValues(declared.items) : undefined;
  if (values !== undefined) return { kind: 'enum', values };
  if (nameOf(declared.type) === 'ObjectId') return { kind: 'objectId' };
  const complete = completeProperty(declared);
  const type: unknown = complete.customType;
  if (type instanceof JsonType) return { kind: 'json' };
  if (type instanceof UuidType) return { kind: 'uuid' };
  if (type instanceof BlobType || type instanceof Uint8ArrayType) return { kind: 'binary' };
  if (complete.runtimeType === 'boolean') return { kind: 'boolean' };
  if (complete.runtimeType === 'Date') return { kind: 'datetime' };
  return ofColumn(complete);
}

function listType(property: EntityProperty): FieldType {
  const element = elementType(property);
  return element === undefined ? { kind: 'json' } : { kind: 'json', element };
}

function enumValues(items: unknown): readonly (string | number)[] | undefined {
  const given: unknown = typeof items === 'function' ? (items as () => unknown)() : items;
  if (Array.isArray(given)) return given as (string | number)[];
  return typeof given === 'object' && given !== null ? Utils.extractEnumValues(given) : undefined;
}

/**
 * @throws ImproperlyConfigured for an enum of a discovered entity with a number that its column cannot hold. MikroORM
 * gives an enum of numbers a `smallint` on PostgreSQL.
 */
export function checkEnumColumns({ className, props }: EntityMetadata): void {
  for (const property of props) {
    // On other databases, the name says nothing of what is stored.
    if (!property.enum || columnName(property) !== 'smallint') continue;
    const { minimum, maximum } = widthOf(property);
    const values = enumValues(property.items) ?? [];
    const wide = values.find((value) => typeof value === 'number' && !(value >= minimum && value <= maximum));
    if (wide === undefined) continue;
    throw new ImproperlyConfigured(
      `${className}.${property.name} has the enum value ${wide}, which its column "smallint" cannot hold; ` +
        "declare columnType('integer')",
    );
  }
}

/** The kinds of columns, by their names in databases. All other columns hold text. */
const KIND_OF_COLUMN: ReadonlyMap<string, FieldKind> = new Map(
  (Object.keys(FIELD_KINDS) as FieldKind[]).flatMap((kind) => FIELD_KINDS[kind].columns.map((name) => [name, kind])),
);

function ofColumn(property: EntityProperty): FieldType {
  const kind = KIND_OF_COLUMN.get(columnName(property)) ?? (property.runtimeType === 'number' ? 'number' : 'string');
  return { kind, ...FACETS[kind]?.(property) };
}

/** The limits of a column, besides its kind. */
type Facets = Omit<FieldType, 'kind'>;

const FACETS: Readonly<Partial<Record<FieldKind, (property: EntityProperty) => Facets>>> = {
  string: facetsOfText,
  integer: widthOf,
  bigint: (property) => ({ minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n, mode: bigintMode(property) }),
  decimal: digitsOf,
};

/** `numeric(10,2)` → numeric; `timestamp with time zone` → timestamp. */
function columnName(property: EntityProperty): string {
  return /^[a-z0-9]+/.exec(property.columnTypes?.[0]?.toLowerCase() ?? '')?.[0] ?? '';
}

const SMALL_INTEGER = /^(?:smallint|int2|tinyint|smallserial)$/;

function widthOf(property: EntityProperty): { readonly minimum: number; readonly maximum: number } {
  const bits = [columnName(property), property.type].some((name) => SMALL_INTEGER.test(name)) ? 16 : 32;
  return { minimum: -(2 ** (bits - 1)), maximum: 2 ** (bits - 1) - 1 };
}

function bigintMode({ customType, runtimeType }: EntityProperty): 'bigint' | 'number' | 'string' {
  const type: unknown = customType;
  const mode: unknown = (type instanceof BigIntType ? type.mode : undefined) ?? runtimeType;
  return mode === 'number' || mode === 'string' ? mode : 'bigint';
}

function digitsOf({ customType, runtimeType, columnTypes }: EntityProperty): Facets {
  const type: unknown = customType;
  const mode = type instanceof DecimalType && (type.mode ?? runtimeType) !== 'number' ? 'string' : 'number';
  // numeric without a precision is MikroORM's numeric(10,0).
  const declared = /\((\d+)(?:,\s*(\d+))?\)/.exec(columnTypes[0] ?? '');
  if (declared === null) return { mode };
  return { mode, precision: Number(declared[1]), scale: Number(declared[2] ?? 0) };
}

/** PostgreSQL types without an order. Some of them have no equality either. */
const UNORDERED = new Set(['line', 'lseg', 'box', 'path', 'circle', 'hstore', 'xid', 'cid']);
const INCOMPARABLE = new Set(['xml', 'point', 'polygon', 'jsonpath', 'lquery', 'ltxtquery']);

function facetsOfText(property: EntityProperty): Facets {
  const column = columnName(property);
  if (INCOMPARABLE.has(column)) return { lacks: 'equality' };
  if (UNORDERED.has(column)) return { lacks: 'order' };
  const type: unknown = property.customType;
  const declared = /char[a-z ]*\((\d+)\)/.exec(property.columnTypes[0]?.toLowerCase() ?? '')?.[1];
  const isShort = (property.type === 'string' || type instanceof StringType) && column === 'text';
  const maxLength = property.length ?? (declared === undefined ? (isShort ? 255 : -1) : Number(declared));
  return maxLength < 0 ? {} : { maxLength };
}
