import type { EntityMetadata, EntityName } from '@mikro-orm/core';
import { type TObject, type TSchema, Type } from 'typebox';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { declaredMetadata } from '../../fields/declared-metadata.ts';
import { FIELD_KINDS } from '../../fields/field-kinds.ts';
import { referenceTo } from '../../fields/reference-to.ts';
import { FileField } from '../../files/file-field.ts';
import { isRecord } from '../../support/json.ts';
import { isUnsafeName } from '../../schema/scan-input.ts';
import { checkOptions, NAMES, TEXTS, wrongOption } from '../../errors/options.ts';
import { bindFields } from './bound-field.ts';
import { BoundWriteShape } from './bound-write-shape.ts';
import { patchOf } from './embedded-parts.ts';
import {
  type FieldSource,
  type FieldSources,
  isOptionalRecord,
  relatedSchema,
  relationSource,
  updatesOf,
  writtenTo,
} from './relation-source.ts';
import { type ObjectSchema, type StaticObject, joined, nullableObject, withOnly, without } from '../schema-object.ts';
import { type ShapeField, embeddableAt, shapeField } from '../shape-field.ts';
import { checkSameEntity, checkShapeNames } from '../shape-names.ts';
import { writeSchema } from '../wire-format.ts';
import type {
  ExtendedBody,
  PickedBody,
  WritableName,
  WritableSchema,
  WriteInput,
  WriteOptions,
  WriteOverrides,
} from './write-input.ts';

/**
 * Describes the bodies that write a record: `schema` for create, `replacement` for PUT, `partial` for PATCH. Made by
 * `writeShape`, or from a hand-written schema by `toWriteShape`.
 */
export class WriteShape<Entity extends object, out Input extends object> {
  readonly entity: EntityName<Entity>;
  readonly schema: TObject;
  /** The schema of PUT. It equals the schema of POST, but without children, unless the shape writes them on update. */
  readonly replacement: TObject;
  /** Any part of `replacement`, `{}` included. */
  readonly partial: TObject;
  /** Only for the types. */
  declare readonly input?: Input;
  readonly #sources: FieldSources;

  /** @internal */
  constructor(entity: EntityName<Entity>, schema: TObject, sources: FieldSources) {
    this.entity = entity;
    this.schema = schema;
    this.#sources = sources;
    const { properties } = declaredMetadata(entity);
    const { replacement, partial } = updatesOf(entity, schema, sources, (update) =>
      patchOf(update, (name) => properties[this.#propertyOf(name) as never]),
    );
    this.replacement = replacement;
    this.partial = partial;
    this.#checkDistinct();
  }

  /** @internal The file properties. */
  get files(): readonly string[] {
    const files = Object.keys(this.schema.properties).filter(
      (name) => this.#sources.get(name)?.relation?.kind === 'file',
    );
    return files.map((name) => this.#propertyOf(name));
  }

  /** @internal Reports whether a field writes a property. */
  writes(property: string): boolean {
    return Object.keys(this.schema.properties).some((name) => this.#propertyOf(name) === property);
  }

  /**
   * Returns a shape with more fields. It accepts the parameters of `writeShape()`, or another shape of the entity. A
   * new field replaces a field of the same name.
   *
   * @throws ImproperlyConfigured for a name that the entity does not have; it suggests the nearest name
   * @example
   * const ofAnybody = writeShape(Product, ['name', 'price']);
   * const ofStaff = ofAnybody.extend(['stock'], { seller: 'owner.email' }, { required: ['stock'] });
   */
  extend<
    const Name extends WritableName<Entity> = never,
    const Overrides extends WriteOverrides<Entity, keyof Overrides> = Record<never, never>,
    const Required extends Name | (keyof Overrides & string) = never,
    const Optional extends Name | (keyof Overrides & string) = never,
    Other extends object = Record<never, never>,
  >(
    given: readonly Name[] | WriteShape<Entity, Other>,
    overrides?: Overrides,
    options?: { readonly required?: readonly Required[]; readonly optional?: readonly Optional[] },
  ): WriteShape<
    Entity,
    ExtendedBody<ExtendedBody<Input, Other>, WriteInput<Entity, Name, Overrides, Required, Optional>>
  > {
    const added =
      'bind' in given
        ? given
        : writeShape<Entity, Name, Overrides, Required, Optional>(this.entity, given, overrides, options);
    checkSameEntity('extend()', this.entity, added.entity);
    const kept = [...this.#sources].filter(([name]) => !(name in added.schema.properties));
    return new WriteShape(this.entity, joined(this.schema, added.schema), new Map([...kept, ...added.#sources]));
  }

  /**
   * Returns a shape with only some of the fields, by their names in a body.
   *
   * @throws ImproperlyConfigured for a name that the shape does not have; it suggests the nearest name
   * @example
   * writeShape(Product, ['name', 'price']).pick(['name']);
   */
  pick<const Name extends Exclude<keyof Input, '~names'> & string>(
    names: readonly Name[],
  ): WriteShape<Entity, PickedBody<Input, Name>> {
    this.#check('pick()', names);
    return this.#keeping((name) => (names as readonly string[]).includes(name));
  }

  /**
   * Returns the shape without some fields, by their names in a body.
   *
   * @throws ImproperlyConfigured for a name that the shape does not have; it suggests the nearest name
   * @example
   * writeShape(Product, ['name', 'price']).omit(['price']);
   */
  omit<const Name extends Exclude<keyof Input, '~names'> & string>(
    names: readonly Name[],
  ): WriteShape<Entity, PickedBody<Input, Exclude<keyof Input, Name | '~names'>>> {
    this.#check('omit()', names);
    return this.#keeping((name) => !(names as readonly string[]).includes(name));
  }

  #check(method: string, names: readonly string[]): void {
    const owner = `${method} of a writeShape() of ${declaredMetadata(this.entity).className}`;
    const known = Object.keys(this.schema.properties);
    checkShapeNames(owner, names, known);
  }

  /**
   * @internal Returns the shape without the fields that write these properties. A body with such a field is treated
   * like a body with an unknown field.
   */
  without(properties: readonly string[]): WriteShape<Entity, Input> {
    return this.#keeping((name) => !properties.includes(this.#propertyOf(name)));
  }

  #keeping<Part extends object>(isKept: (name: string) => boolean): WriteShape<Entity, Part> {
    const kept = Object.entries(this.schema.properties).filter(([name]) => isKept(name));
    return new WriteShape(this.entity, withOnly(this.schema, Object.fromEntries(kept)), this.#sources);
  }

  #checkDistinct(): void {
    const names = new Map<string, string>();
    for (const name of Object.keys(this.schema.properties)) {
      const property = this.#propertyOf(name);
      const other = names.get(property);
      if (other !== undefined) {
        const { className } = declaredMetadata(this.entity);
        throw new ImproperlyConfigured(`${className}.${property} is written by two fields, "${other}" and "${name}"`);
      }
      names.set(property, name);
    }
  }

  #propertyOf(name: string): string {
    return this.#sources.get(name)?.property ?? name;
  }

  /**
   * Compiles the validators. Called once for each view, at registration.
   *
   * @throws ImproperlyConfigured if the schema and the columns never fit each other
   */
  bind(meta: EntityMetadata): BoundWriteShape {
    const { schema, replacement, partial } = this;
    return new BoundWriteShape({ schema, replacement, partial }, bindFields(meta, schema, this.#sources));
  }
}

/**
 * Makes a write shape from an entity. A field has the bounds of its column. A field is required, unless its column is
 * nullable or has a default or `onCreate`. A required string must not be empty. Only the named fields are written. This
 * applies to the primary key too.
 *
 * A to-one relation is written as the primary key of the related record. A many-to-many relation is written as a list
 * of primary keys, which replaces the set; it is optional.
 *
 * The third parameter overrides single fields. The bounds of the columns still apply.
 *
 * - A schema; `Type.Optional` makes the field optional.
 * - `'role.name'` refers to a related record by a unique field.
 * - `refs('tags.name')` does the same for a many-to-many relation.
 * - `nested(…)` writes the children of the record, or the record of a to-one relation.
 *
 * The fourth parameter names fields to make required or optional in spite of the entity.
 *
 * @throws ImproperlyConfigured for a name that the entity does not have; it suggests the nearest name
 * @example
 * const write = writeShape(Account, ['name', 'email'], { role: 'role.name' });
 * // POST /accounts {"name":"Ada","email":"ada@example.com","role":"admn"}
 * // → 400 {"error":"Invalid body: role must be the name of an existing Role", …}
 */
export function writeShape<
  Entity extends object,
  const Name extends WritableName<Entity>,
  const Overrides extends WriteOverrides<Entity, keyof Overrides> = Record<never, never>,
  const Required extends Name | (keyof Overrides & string) = never,
  const Optional extends Name | (keyof Overrides & string) = never,
>(
  entity: EntityName<Entity>,
  names: readonly Name[],
  overrides?: Overrides,
  options: { readonly required?: readonly Required[]; readonly optional?: readonly Optional[] } = {},
): WriteShape<Entity, WriteInput<Entity, Name, Overrides, Required, Optional>> {
  const meta = declaredMetadata(entity);
  const owner = `writeShape(${meta.className})`;
  checkOptions(owner, { names, overrides }, { names: TEXTS, overrides: NAMES });
  checkOptions(owner, options, { required: TEXTS, optional: TEXTS });
  const sources: Readonly<Record<string, unknown>> = {
    ...Object.fromEntries(names.map((name) => [name, undefined])),
    ...overrides,
  };
  checkNamesOf(options, Object.keys(sources), owner);
  const written = new Map<string, FieldSource>();
  const properties: Record<string, TSchema> = {};
  for (const [name, override] of Object.entries(sources)) {
    if (override !== undefined && typeof override !== 'string' && !isRecord(override)) {
      throw wrongOption(owner, `overrides.${name}`, `a schema, or a path such as "${name}.name"`, override);
    }
    if (isUnsafeName(name)) throw new ImproperlyConfigured(`${owner}: "${name}" cannot be the name of a field`);
    const { property, source } = writtenTo(meta, name, override);
    const relation = relationSource(meta, property, source);
    written.set(name, { property, relation });
    const forced = isForcedOptional(name, options);
    properties[name] =
      relation === undefined || relation.kind === 'one' || relation.kind === 'file'
        ? fieldSchema(meta, property, source, forced)
        : markOptional(relatedSchema(meta, property, relation), forced ?? isOptionalRecord(meta, property));
  }
  const schema = Type.Object(properties);
  // The final columns are known only after discovery. The declared columns reveal most mistakes now.
  bindFields(meta, schema, written);
  return new WriteShape(entity, schema, written);
}

/**
 * Makes a write shape from a hand-written schema. Each property writes the entity's property of the same name. Returns
 * a write shape unchanged.
 *
 * @throws ImproperlyConfigured for a schema that allows unknown properties
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
  const { additionalProperties = false, patternProperties } = shape as Readonly<Record<string, unknown>>;
  if (additionalProperties !== false || patternProperties !== undefined) {
    throw new ImproperlyConfigured(
      'A write schema must name all of its properties: it may have no additionalProperties and no patternProperties',
    );
  }
  return new WriteShape(entity, shape as TObject, new Map());
}

/** Reports whether a field is optional in spite of its column. Undefined if the column decides. */
function isForcedOptional(name: string, { required, optional }: WriteOptions): boolean | undefined {
  if (required?.includes(name) === true) return false;
  return optional?.includes(name) === true ? true : undefined;
}

/**
 * Makes the schema of a field. If the source is a schema, it is used. Otherwise the column or embeddable declares it.
 */
function fieldSchema(meta: EntityMetadata, name: string, source: unknown, forced?: boolean): TSchema {
  if (source instanceof FileField) return markOptional(source.schema, forced ?? canBeLeftOut(shapeField(meta, name)));
  if (typeof source === 'object') return markOptional(source as TSchema, forced ?? Type.IsOptional(source));
  const embeddable = source === undefined ? embeddableAt(meta, name) : undefined;
  if (embeddable !== undefined) {
    const { meta: inner, nullable } = embeddable;
    const parts = Object.keys(inner.properties).map((part) => [part, fieldSchema(inner, part, undefined)] as const);
    const object = Type.Object(Object.fromEntries(parts));
    return markOptional(nullable ? nullableObject(object) : object, forced ?? nullable);
  }
  const column = shapeField(meta, name);
  const value = source === undefined ? column : shapeField(meta, source as string);
  const canLeaveOut = canBeLeftOut(column);
  const schema = writeSchema({ ...value, nullable: column.nullable }, canLeaveOut);
  const { target } = column;
  const described = target === undefined ? schema : { ...schema, ...referenceTo(target, value.property) };
  return markOptional(described, forced ?? canLeaveOut);
}

function markOptional(schema: TSchema, optional: boolean): TSchema {
  if (optional === Type.IsOptional(schema)) return schema;
  return optional ? Type.Optional(schema) : without(schema, '~optional');
}

/** Reports whether a record can be created without a value for the column. */
export function canBeLeftOut({ property, type, nullable }: ShapeField): boolean {
  const keysMadeBy = property.primary === true ? FIELD_KINDS[type.kind].keysMadeBy : undefined;
  return (
    nullable ||
    property.default !== undefined ||
    property.defaultRaw !== undefined ||
    property.onCreate !== undefined ||
    property.version === true ||
    keysMadeBy === 'driver' ||
    (property.autoincrement ?? keysMadeBy === 'database')
  );
}

function checkNamesOf(options: WriteOptions, names: readonly string[], owner: string): void {
  for (const [option, listed] of Object.entries(options) as [string, readonly string[]][]) {
    for (const name of listed) {
      if (names.includes(name)) continue;
      throw new ImproperlyConfigured(
        `${owner}: option "${option}" names "${name}", which is not in the shape; it has: ${names.join(', ')}`,
      );
    }
  }
}
