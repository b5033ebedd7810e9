import { type Static, type TObject, type TSchema, Type } from 'typebox';

/** Any Type.Object, refined ones among them (whose type TypeScript does not take for a TObject). */
export type ObjectSchema = Pick<TObject, '~kind' | 'type' | 'properties'>;

/**
 * The objects that an object schema describes. Of any schema they are any objects: the compiler would unfold all that a schema
 * can be.
 */
export type StaticObject<Schema extends ObjectSchema> = string extends keyof Schema['properties']
  ? object
  : Static<Schema> extends infer Described extends object
    ? Described
    : never;

/** An object schema each of whose properties has one of some names; no schema if it has another. */
export type NamedSchema<Schema extends ObjectSchema, Names> = string extends keyof Schema['properties']
  ? ObjectSchema
  : [Exclude<keyof Schema['properties'], Names>] extends [never]
    ? ObjectSchema
    : { readonly properties: { readonly [Name in Exclude<keyof Schema['properties'], Names>]: never } };

/** Copies a schema without some keywords, with what TypeBox keeps out of sight (kinds, refinements). */
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

/** Copies an object's schema with other properties, of which only those are required that were before. */
export function withOnly(schema: TObject, properties: TObject['properties']): TObject {
  const required = ((schema.required ?? []) as readonly string[]).filter((name) => name in properties);
  const copy = withProperties(schema, properties, 'required');
  return required.length === 0 ? copy : Object.assign(copy, { required });
}

/** Adds the properties of an object's schema to those of another one, in the place of those of the same names. */
export function joined(schema: TObject, added: TObject): TObject {
  const kept = ((schema.required ?? []) as readonly string[]).filter((name) => !(name in added.properties));
  const required = [...kept, ...(added.required ?? [])];
  const whole = withProperties(schema, { ...schema.properties, ...added.properties }, 'required');
  return required.length === 0 ? whole : Object.assign(whole, { required });
}

/** Copies an object's schema with its properties changed; the same schema if none of them is. */
export function mapProperties(schema: TObject, change: (schema: TSchema, name: string) => TSchema): TObject {
  const changed = Object.entries(schema.properties).map(([name, child]) => [name, change(child, name)] as const);
  if (changed.every(([name, child]) => child === schema.properties[name])) return schema;
  return withProperties(schema, Object.fromEntries(changed));
}

/** Changes the objects that a schema describes: itself, the items of an array, and the members of a union. */
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

/** Copies a schema with another value of a keyword, with what TypeBox keeps out of sight. */
export function withKeyword(schema: TSchema, keyword: string, value: unknown): TSchema {
  return Object.assign(without(schema, keyword), { [keyword]: value });
}

/** Keywords and refinements that speak of a whole object, and may not hold of a part of it. */
const OF_THE_WHOLE = [
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
 * The schema of any part of an object, `{}` included: nothing is required, nothing has a default, and what the schema
 * says of the object as a whole is left out.
 */
export function partialOf(schema: TObject): TObject {
  const properties = Object.entries(schema.properties).map(([name, child]) => {
    // The others stay the same objects, so that they are compiled once.
    return [name, 'default' in child ? without(child, 'default') : child] as const;
  });
  return withProperties(schema, Object.fromEntries(properties), ...OF_THE_WHOLE);
}

/** An object schema, or null: one schema of two types, which serializers need not try out as they would a union. */
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

/** Makes the schema of what may be of several kinds; of one kind, its own schema. */
export function unionOf(kinds: readonly TSchema[]): TSchema {
  return kinds.length === 1 ? kinds[0]! : Type.Union([...kinds]);
}
