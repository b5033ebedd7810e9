import { type Static, type TObject, type TSchema, Type } from 'typebox';

/** Any Type.Object, including refined ones, which TypeScript does not accept as a TObject. */
export type ObjectSchema = Pick<TObject, '~kind' | 'type' | 'properties'>;

/**
 * The type of the objects that a schema describes. For an arbitrary schema any object, because the compiler would
 * expand every possible schema.
 */
export type StaticObject<Schema extends ObjectSchema> = string extends keyof Schema['properties']
  ? object
  : Static<Schema> extends infer Described extends object
    ? Described
    : never;

/** An object schema whose properties all have allowed names; never if one has another name. */
export type NamedSchema<Schema extends ObjectSchema, Names> = string extends keyof Schema['properties']
  ? ObjectSchema
  : [Exclude<keyof Schema['properties'], Names>] extends [never]
    ? ObjectSchema
    : { readonly properties: { readonly [Name in Exclude<keyof Schema['properties'], Names>]: never } };

/** Copies a schema without some keywords, and keeps TypeBox's non-enumerable members (kinds, refinements). */
export function without<Schema extends TSchema>(schema: Schema, ...keywords: readonly string[]): Schema {
  const kept = Object.entries(Object.getOwnPropertyDescriptors(schema)).filter(([name]) => !keywords.includes(name));
  return Object.defineProperties({}, Object.fromEntries(kept)) as Schema;
}

/** Copies an object's schema with other properties, without some keywords. */
export function withProperties(
  schema: TObject,
  properties: TObject['properties'],
  ...left: readonly string[]
): TObject {
  return Object.assign(without(schema, ...left), { properties });
}

/** Copies an object's schema with other properties. A property stays required only if it was required before. */
export function withOnly(schema: TObject, properties: TObject['properties']): TObject {
  const required = ((schema.required ?? []) as readonly string[]).filter((name) => name in properties);
  const copy = withProperties(schema, properties, 'required');
  return required.length === 0 ? copy : Object.assign(copy, { required });
}

/** Adds the properties of an object's schema to another one. They replace properties of the same names. */
export function joined(schema: TObject, added: TObject): TObject {
  const kept = ((schema.required ?? []) as readonly string[]).filter((name) => !(name in added.properties));
  const required = [...kept, ...(added.required ?? [])];
  const extended = withProperties(schema, { ...schema.properties, ...added.properties }, 'required');
  return required.length === 0 ? extended : Object.assign(extended, { required });
}

/** Copies an object's schema with changed properties. If none changes, returns the same schema. */
export function mapProperties(schema: TObject, change: (schema: TSchema, name: string) => TSchema): TObject {
  const changed = Object.entries(schema.properties).map(([name, child]) => [name, change(child, name)] as const);
  if (changed.every(([name, child]) => child === schema.properties[name])) return schema;
  return withProperties(schema, Object.fromEntries(changed));
}

/** Changes the object schemas in a schema: the schema itself, the items of an array, and the members of a union. */
export function mapObjects(schema: TSchema, change: (object: TObject) => TObject): TSchema {
  const { properties, items, anyOf } = schema as { properties?: object; items?: TSchema; anyOf?: readonly TSchema[] };
  if (properties !== undefined) return change(schema as TObject);
  if (anyOf !== undefined) {
    const members = anyOf.map((member) => mapObjects(member, change));
    return members.every((member, index) => member === anyOf[index]) ? schema : withKeyword(schema, 'anyOf', members);
  }
  if (items === undefined || Array.isArray(items)) return schema;
  const item = mapObjects(items, change);
  return item === items ? schema : withKeyword(schema, 'items', item);
}

/** Copies a schema with another value of a keyword, and keeps TypeBox's non-enumerable members. */
export function withKeyword(schema: TSchema, keyword: string, value: unknown): TSchema {
  return Object.assign(without(schema, keyword), { [keyword]: value });
}

/** Keywords and refinements about a whole object, which may not hold for a part of it. */
const OBJECT_KEYWORDS = [
  'required',
  'minProperties',
  'maxProperties',
  'dependencies',
  'dependentRequired',
  'dependentSchemas',
  'if',
  'then',
  'else',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  '~refine',
];

/**
 * The schema of any part of an object, including `{}`: nothing is required, nothing has a default, and constraints on
 * the whole object are left out.
 */
export function partialOf(schema: TObject): TObject {
  const properties = Object.entries(schema.properties).map(([name, child]) => {
    // Other properties keep their schema objects, so that they are compiled once.
    return [name, 'default' in child ? without(child, 'default') : child] as const;
  });
  return withProperties(schema, Object.fromEntries(properties), ...OBJECT_KEYWORDS);
}

/** An object schema, or null: one schema of two types. Unlike a union, a serializer need not try its members. */
export function nullableObject(schema: TSchema): TSchema {
  return { ...schema, type: ['object', 'null'] };
}

/** Finds the object in `{…}` or in `{…} | null`. */
export function objectIn(schema: TSchema): ObjectSchema | undefined {
  const { type, anyOf, properties } = schema as { type?: unknown; anyOf?: readonly TSchema[]; properties?: object };
  if (properties !== undefined && (type === 'object' || (Array.isArray(type) && type.includes('object')))) {
    return schema as ObjectSchema;
  }
  const objects = (anyOf ?? []).map(objectIn).filter((found) => found !== undefined);
  return objects.length === 1 && anyOf?.length === 2 ? objects[0] : undefined;
}

/** Makes a union of schemas; a single schema is returned unchanged. */
export function unionOf(kinds: readonly TSchema[]): TSchema {
  return kinds.length === 1 ? kinds[0]! : Type.Union([...kinds]);
}
