import type { EntityMetadata, EntityName } from '@mikro-orm/core';
import { type TObject, type TSchema, Type } from 'typebox';
import { ImproperlyConfigured } from '../errors.ts';
import type { FieldName } from '../fields/field-name.ts';
import { checkOptionNames } from '../options.ts';
import { type BoundWriteShape, bindWriteShape } from './bound-write-shape.ts';
import { type DeclaredEmbeddable, declaredEmbeddable, declaredField, declaredMetadata } from './shape-field.ts';
import {
  type ObjectSchema,
  type StaticObject,
  mapProperties,
  nullableObject,
  partialOf,
  withProperties,
  without,
} from './schema-object.ts';
import { writeSchema } from './wire-format.ts';
import {
  type WriteField,
  canBeLeftOut,
  checkRelation,
  checkUnique,
  checkWritableProperty,
  naturalKeyOf,
} from './write-field.ts';
import type { ResolvedData, WritableSchema, WriteInput, WriteOptions, WriteOverrides } from './write-input.ts';

/**
 * Describes what comes in for a record: on create and PUT by `schema`, on PATCH by `partial`. Made by `writeShape` or, of a
 * schema written by hand, by `toWriteShape`.
 */
export interface WriteShape<Entity extends object, Input extends object> {
  readonly entity: EntityName<Entity>;
  readonly schema: TObject;
  /** Any part of it, `{}` included. */
  readonly partial: TObject;
  /** Only for the types. */
  readonly input?: Input;
  /**
   * Compiles the validators. Made once for each view, when it is registered.
   *
   * @throws ImproperlyConfigured where the schema and the columns can never fit each other
   */
  bind(meta: EntityMetadata): BoundWriteShape<ResolvedData<Entity, Input>>;
}

/**
 * A write shape derived from an entity: the bounds of each field are those of its column, so that they are stated once.
 * A field is required unless its column may be null or has a value of its own (a default, `onCreate`); a required string
 * must not be empty. A to-one relation is written as the primary key of the related record. The primary key, as
 * everything else, is only in it when it is named.
 *
 * The third parameter overrides single fields: by a schema (optional with `Type.Optional`), or by `'role.name'`, which
 * refers to a related record by a unique field of it. What the columns can hold is enforced in any case. The fourth
 * one says which fields are required, or optional, where that differs from the entity.
 *
 * @throws ImproperlyConfigured for a name that the entity does not have, naming the nearest
 * @example
 * const write = writeShape(Account, ['name', 'email'], { role: 'role.name' });
 * // POST /accounts {"name":"Ada","email":"ada@example.com","role":"admn"}
 * // → 400 {"error":"Invalid body: role must be the name of an existing Role", …}
 */
export function writeShape<
  Entity extends object,
  const Name extends FieldName<Entity>,
  const Overrides extends WriteOverrides<Entity> = Record<never, never>,
  const Required extends Name | (keyof Overrides & string) = never,
  const Optional extends Name | (keyof Overrides & string) = never,
>(
  entity: EntityName<Entity>,
  names: readonly Name[],
  overrides?: Overrides & { readonly [Other in Exclude<keyof Overrides, FieldName<Entity>>]: never },
  options: { readonly required?: readonly Required[]; readonly optional?: readonly Optional[] } = {},
): WriteShape<Entity, WriteInput<Entity, Name, Overrides, Required, Optional>> {
  const meta = declaredMetadata(entity);
  const all = Object.entries<unknown>({ ...Object.fromEntries(names.map((name) => [name, undefined])), ...overrides });
  checkOptions(
    meta,
    all.map(([name]) => name),
    options,
  );
  const fields = all.map(([name, override]) => fieldOf(meta, name, override, options));
  const schema = Type.Object(Object.fromEntries(fields.map((field) => [field.name, declaredSchema(meta, field)])));
  return new EntityWriteShape(entity, schema, fields);
}

/**
 * A write shape of a schema written by hand: each property is the entity's property of that name. A write shape is given
 * back as it is.
 *
 * @throws ImproperlyConfigured for a schema that lets unknown properties through
 * @example
 * toWriteShape(Product, Type.Object({ name: Type.String(), price: Type.Number({ exclusiveMinimum: 0 }) }));
 */
export function toWriteShape<Entity extends object, Input extends object>(
  entity: EntityName<Entity>,
  shape: WriteShape<Entity, Input>,
): WriteShape<Entity, Input>;
export function toWriteShape<Entity extends object, Schema extends ObjectSchema>(
  entity: EntityName<Entity>,
  schema: Schema & WritableSchema<Entity, Schema>,
): WriteShape<Entity, StaticObject<Schema>>;
export function toWriteShape<Entity extends object>(
  entity: EntityName<Entity>,
  shape: WriteShape<Entity, object> | ObjectSchema,
): WriteShape<Entity, object> {
  if ('bind' in shape) return shape;
  if (isOpen(shape)) {
    throw new ImproperlyConfigured(
      'A write schema must name all of its properties: it may have no additionalProperties and no patternProperties',
    );
  }
  const required: readonly string[] = (shape as { required?: string[] }).required ?? [];
  const fields = Object.entries(shape.properties).map(([name, schema]) => {
    return { name, schema, naturalKey: undefined, optional: !required.includes(name) };
  });
  return new EntityWriteShape(entity, shape as TObject, fields);
}

class EntityWriteShape<Entity extends object, Input extends object> implements WriteShape<Entity, Input> {
  readonly entity: EntityName<Entity>;
  readonly schema: TObject;
  readonly #fields: readonly WriteField[];
  #partial: TObject | undefined;

  constructor(entity: EntityName<Entity>, schema: TObject, fields: readonly WriteField[]) {
    this.entity = entity;
    this.schema = schema;
    this.#fields = fields;
  }

  /** Marked as TypeBox has it, since the application may build on it; what validates is bound, and plain JSON Schema. */
  get partial(): TObject {
    if (this.#partial === undefined) {
      const partial = partialOf(this.schema);
      this.#partial = withProperties(partial, mapProperties(partial, Type.Optional));
    }
    return this.#partial;
  }

  bind(meta: EntityMetadata): BoundWriteShape<ResolvedData<Entity, Input>> {
    return bindWriteShape(meta, this.schema, this.#fields);
  }
}

function isOpen(schema: ObjectSchema): boolean {
  const { additionalProperties = false, patternProperties } = schema as {
    additionalProperties?: unknown;
    patternProperties?: unknown;
  };
  return additionalProperties !== false || patternProperties !== undefined;
}

function fieldOf(
  meta: EntityMetadata,
  name: string,
  override: unknown,
  { required, optional }: WriteOptions,
): WriteField {
  const forced = required?.includes(name) === true ? false : optional?.includes(name) === true ? true : undefined;
  if (typeof override === 'string') {
    return { name, schema: undefined, naturalKey: naturalKeyOf(meta, name, override), optional: forced };
  }
  if (override === undefined) {
    const embeddable = declaredEmbeddable(meta, name);
    const schema = embeddable === undefined ? undefined : embeddedSchema(embeddable);
    return { name, schema, naturalKey: undefined, optional: forced ?? embeddable?.nullable };
  }
  return { name, schema: override as TSchema, naturalKey: undefined, optional: forced ?? Type.IsOptional(override) };
}

/** Derives the schema of an embeddable: an object of its properties, each with the bounds of its column. */
function embeddedSchema({ meta, nullable }: DeclaredEmbeddable): TSchema {
  const properties = Object.keys(meta.properties).map((name) => {
    const field = fieldOf(meta, name, undefined, {});
    return [name, declaredSchema(meta, field)] as const;
  });
  const object = Type.Object(Object.fromEntries(properties));
  return nullable ? nullableObject(object) : object;
}

/** Derives the schema of a field from what the entity declares. */
function declaredSchema(meta: EntityMetadata, { name, schema, naturalKey, optional }: WriteField): TSchema {
  if (schema !== undefined && declaredEmbeddable(meta, name) !== undefined) {
    return optional === true ? Type.Optional(schema) : without(schema, '~optional');
  }
  const field = declaredField(meta, name);
  checkWritableProperty(meta, name, field.property);
  if (naturalKey !== undefined) {
    checkRelation(meta, name, field.property);
    checkUnique(field.target as EntityMetadata, naturalKey);
  }
  const described = naturalKey === undefined ? field : declaredField(meta, `${name}.${naturalKey}`);
  const derived = schema ?? writeSchema({ ...described, nullable: field.nullable }, canBeLeftOut(field));
  return (optional ?? canBeLeftOut(field)) ? Type.Optional(derived) : without(derived, '~optional');
}

function checkOptions(meta: EntityMetadata, names: readonly string[], options: WriteOptions): void {
  checkOptionNames(`writeShape(${meta.className})`, options, ['required', 'optional']);
  for (const [option, listed] of Object.entries(options) as [string, readonly string[]][]) {
    for (const name of listed) {
      if (names.includes(name)) continue;
      throw new ImproperlyConfigured(
        `writeShape(${meta.className}): option "${option}" names "${name}", which is not in the shape; it has: ${names.join(', ')}`,
      );
    }
  }
}
