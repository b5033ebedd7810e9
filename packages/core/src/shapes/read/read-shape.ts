import type { EntityMetadata, EntityName, EntityProperty, Platform } from '@mikro-orm/core';
import { type Static, type TObject, type TSchema, type TUnsafe, Type } from 'typebox';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { declaredMetadata } from '../../fields/declared-metadata.ts';
import { isInlineEmbeddable, isReference, onlyPrimaryKey } from '../../fields/property.ts';
import type { EmbeddedName, FieldName, PathOf, Related, ToManyName, ToOneName } from '../../fields/field-name.ts';
import { isFile, type StoredFile } from '../../files/file-type.ts';
import { isRecord } from '../../support/json.ts';
import { checkOptions, NAMES, TEXTS } from '../../errors/options.ts';
import type { ShapeProjection } from '../../query/language/projection.ts';
import { withNull } from '../json-types.ts';
import { compileProjection } from './projection.ts';
import { Many, type ShownShape } from './many-field.ts';
import { type Computed, isComputed, type ManyField, type ReadField, readFieldsOf } from './read-field.ts';
import { RelatedValue } from './related-value.ts';
import { isUnsafeName } from '../../schema/scan-input.ts';
import { type ObjectSchema, type StaticObject, nullableObject, without } from '../schema-object.ts';
import { embeddableAt, shapeField, toManyAt } from '../shape-field.ts';
import { checkSameEntity, checkShapeNames } from '../shape-names.ts';
import { knownPart } from '../known-part.ts';
import { readSchema } from '../wire-format.ts';
import type { Flat, NullOf, PropertyValue, ToWire, WireValue } from '../wire-value.ts';

/**
 * Describes how responses show a record: the schema, and the columns that it needs. Made by `readShape`, or from a
 * hand-written schema by `toReadShape`.
 */
export class ReadShape<Entity extends object, out Output extends object> {
  readonly entity: EntityName<Entity>;
  /** The schema that Fastify serializes with. */
  readonly schema: ReadSchema<Output>;
  /** Only for the types. */
  declare readonly output?: Output;
  /** @internal */
  readonly fields: readonly ReadField[];

  /** @internal */
  constructor(entity: EntityName<Entity>, schema: TObject, fields: readonly ReadField[]) {
    this.entity = entity;
    this.schema = schema as ReadSchema<Output>;
    this.fields = fields;
  }

  /**
   * Returns a shape with further fields, in the form of `readShape()`'s parameters or of another shape of the entity. A field replaces one
   * of the same name.
   *
   * @throws ImproperlyConfigured for a name that the entity does not have, naming the nearest
   * @example
   * const brief = readShape(Product, ['id', 'name']);
   * const whole = brief.extend(['price'], { seller: 'owner.name' });
   * const counted = whole.extend(readShape(Product, ['stock']));
   */
  extend<
    const Name extends ShownName<Entity> = never,
    const Extra extends ExtraFields<Entity, keyof Extra> = Record<never, never>,
    Other extends object = Record<never, never>,
  >(
    given: readonly Name[] | ReadShape<Entity, Other>,
    extra?: Extra,
  ): ReadShape<Entity, Extended<Output, Other & ReadOutput<Entity, Name, Extra>>> {
    const added = 'bind' in given ? given : readShape<Entity, Name, Extra>(this.entity, given, extra);
    checkSameEntity('extend()', this.entity, added.entity);
    const others = new Set(added.fields.map(({ name }) => name));
    return this.#of([...this.fields.filter(({ name }) => !others.has(name)), ...added.fields]);
  }

  /**
   * Returns a shape with only some of the fields.
   *
   * @throws ImproperlyConfigured for a name that the shape does not have, naming the nearest
   * @example
   * readShape(Product, ['id', 'name', 'price']).pick(['id', 'name']);
   */
  pick<const Name extends keyof Output & string>(names: readonly Name[]): ReadShape<Entity, Flat<Pick<Output, Name>>> {
    this.#check('pick()', names);
    return this.#of(this.fields.filter(({ name }) => (names as readonly string[]).includes(name)));
  }

  /**
   * Returns the shape without some fields.
   *
   * @throws ImproperlyConfigured for a name that the shape does not have, naming the nearest
   * @example
   * readShape(Product, ['id', 'name', 'price']).omit(['price']);
   */
  omit<const Name extends keyof Output & string>(names: readonly Name[]): ReadShape<Entity, Flat<Omit<Output, Name>>> {
    this.#check('omit()', names);
    return this.#of(this.fields.filter(({ name }) => !(names as readonly string[]).includes(name)));
  }

  #of<Other extends object>(fields: readonly ReadField[]): ReadShape<Entity, Other> {
    return new ReadShape(this.entity, objectOf(fields), fields);
  }

  #check(method: string, names: readonly string[]): void {
    const owner = `${method} of a readShape() of ${declaredMetadata(this.entity).className}`;
    const known = this.fields.map(({ name }) => name);
    checkShapeNames(owner, names, known);
  }

  /**
   * Compiles how records are read. Called once for each view, at registration.
   *
   * @throws ImproperlyConfigured if the schema does not fit the columns
   */
  bind(meta: EntityMetadata, platform: Platform): ShapeProjection<Output> {
    return compileProjection<Output>(meta, platform, this.fields);
  }
}

/** The name of every property that a read shape may show: a column that is not declared hidden. */
export type ShownName<Entity> = Exclude<ShownPath<Entity, 0>, `${string}.${string}`>;

type ShownPath<Entity, Hops extends number = 3> = PathOf<Entity, '.', Hops, 'shown'>;

/** The schema of the objects that a read shape sends. */
export type ReadSchema<Output> = TObject<{ [Name in keyof Output & string]: TUnsafe<Output[Name]> }>;

/** The sources of a field that is not the property of the same name. */
export type ExtraSource<Entity> =
  | ShownPath<Entity>
  | Computed<Entity, PathOf<Entity, '.'>>
  | RelatedValue<Entity, boolean | number>
  | { [From in ToManyName<Entity>]: Many<Entity, Related<Entity, From>, unknown, From> }[ToManyName<Entity>];

/** The sources of a field with the name of a column: also a schema of its values. */
type ColumnSource<Entity, Name extends keyof Entity> = ExtraSource<Entity> | ColumnSchema<PropertyValue<Entity, Name>>;

/**
 * The sources of a field with the name of an object: also a shape of the object. Compiler messages name the shape's
 * entity.
 */
type ObjectSource<Nested, Entity> = ExtraSource<Entity> | NestedShapeOf<Nested>;

/** The sources of a field with the name of a to-many relation. */
type ToManySource<Nested, Entity> = ExtraSource<Entity> | Many<Entity, Nested, unknown, undefined>;

/** The fields of a read shape that are not properties under their own name. */
export type ExtraFields<Entity, Names extends PropertyKey> = {
  readonly [Name in Names]: Name extends ToOneName<Entity>
    ? NonNullable<Entity[Name]> extends readonly unknown[]
      ? // A list of embeddables.
        ExtraSource<Entity> | ColumnSchema<unknown>
      : ObjectSource<Related<Entity, Name>, Entity>
    : Name extends EmbeddedName<Entity>
      ? ObjectSource<Related<Entity, Name>, Entity> | ColumnSource<Entity, Name>
      : Name extends ToManyName<Entity>
        ? ToManySource<Related<Entity, Name>, Entity>
        : Name extends FieldName<Entity> & ShownName<Entity>
          ? ColumnSource<Entity, Name>
          : ExtraSource<Entity>;
};

type NestedShapeOf<Entity> = Entity extends object ? ReadShape<Entity, object> : never;

/** A schema without a JSON type, or with a JSON type of the value. Other sources of a field do not match. */
type ColumnSchema<Value> = Value extends StoredFile
  ? never
  : TSchema &
      object & {
        readonly type?: JsonTypeOf<ToWire<Value>>;
        readonly bind?: never;
        readonly compute?: never;
        readonly orderBy?: never;
        readonly aggregate?: never;
      };

/** The JSON types of a value. For objects any, because an application's type may write them as anything. */
type JsonTypeOf<Value> = 0 extends 1 & Value
  ? string
  : Value extends string
    ? 'string'
    : Value extends number
      ? 'number' | 'integer'
      : Value extends boolean
        ? 'boolean'
        : string;

/** The output of a shape that another shape extends. */
export type Extended<Output, Added> = Flat<Omit<Output, keyof Added> & Added>;

/** The object that a read shape sends. */
export type ReadOutput<Entity, Names extends string, Extra> = Flat<
  { [Name in Names]: WireValue<Entity, Name> } & {
    -readonly [Name in keyof Extra]: ExtraOutput<Entity, Name, Extra[Name]>;
  }
>;

type ExtraOutput<Entity, Name, Source> =
  Source extends Computed<never, string, infer Schema>
    ? // Infer nothing from the value of a schema: the compiler would expand every possible schema.
      NoInfer<Static<Schema>>
    : Source extends string
      ? WireValue<Entity, Source>
      : Source extends { readonly aggregate: unknown; readonly value?: infer Value }
        ? Value
        : Source extends { readonly orderBy: readonly string[]; readonly item?: infer Item }
          ? Item[]
          :
              | (Source extends { readonly bind: unknown; readonly output?: infer Nested }
                  ? Nested
                  : Source extends TSchema
                    ? NoInfer<Static<Source>>
                    : never)
              | NullAt<Entity, Name>;

/** null for a property that may be missing, and for values that the entity does not describe. */
type NullAt<Entity, Name> = Name extends keyof Entity
  ? unknown extends Entity[Name]
    ? null
    : NullOf<Entity[Name]>
  : never;

/**
 * Makes a read shape from an entity. The column of a property decides its type in JSON: a Date, a bigint, and a decimal that is kept as a
 * string are strings; bytes are base64; a to-one relation is its primary key. Only the named fields are read. Hidden properties of the
 * entity cannot be named.
 *
 * The third parameter adds fields under other names: from a path through to-one relations, from a function (`computed`), from related
 * records (`many`, `exists`, `count`), or from a shape of a related record. It can also give a column of the same name a schema for its
 * JSON.
 *
 * @throws ImproperlyConfigured for a name that the entity does not have, naming the nearest
 * @example
 * const read = readShape(Account, ['id', 'email'], { role: 'role.name' });
 * // GET /accounts/1 → {"id":1,"email":"ada@example.com","role":null}
 * readShape(Account, ['id'], { settings: Type.Object({ theme: Type.String() }) });
 * // GET /accounts/1 → {"id":1,"settings":{"theme":"dark"}}
 */
export function readShape<
  Entity extends object,
  const Name extends ShownName<Entity>,
  const Extra extends ExtraFields<Entity, keyof Extra> = Record<never, never>,
>(
  entity: EntityName<Entity>,
  names: readonly Name[],
  extra?: Extra,
): ReadShape<Entity, ReadOutput<Entity, Name, Extra>> {
  const meta = declaredMetadata(entity);
  checkOptions(`readShape(${meta.className})`, { names, extra }, { names: TEXTS, extra: NAMES });
  const sources = [...names.map((name) => [name, name] as const), ...Object.entries<unknown>(extra ?? {})];
  if (sources.length === 0) {
    throw new ImproperlyConfigured(
      `readShape(${meta.className}): option "names" must name a field, if "extra" does not`,
    );
  }
  const seen = new Set<string>();
  const fields = sources.map(([name, source]) => {
    const problem = isUnsafeName(name)
      ? 'cannot be the name of a field'
      : seen.has(name)
        ? 'is named twice'
        : undefined;
    if (problem !== undefined) throw new ImproperlyConfigured(`readShape(${meta.className}): "${name}" ${problem}`);
    seen.add(name);
    return fieldOf(meta, name, source);
  });
  return new ReadShape(entity, objectOf(fields), fields);
}

/**
 * Makes a read shape from a hand-written schema. Each property is the entity's property of the same name. A Type.Object
 * for a to-one relation is a shape of the related record. A read shape is returned unchanged. `bind` checks whether the
 * schema fits the columns: a nullable column needs a schema that allows null.
 *
 * @example
 * toReadShape(Account, Type.Object({ id: Type.Integer(), role: Type.Union([Type.Object({ name: Type.String() }), Type.Null()]) }));
 */
export function toReadShape<Entity extends object, Output extends object>(
  entity: EntityName<Entity>,
  shape: ReadShape<Entity, Output>,
): ReadShape<Entity, Output>;
export function toReadShape<Entity extends object, Schema extends ObjectSchema>(
  entity: EntityName<Entity>,
  schema: Schema,
): ReadShape<Entity, StaticObject<Schema>>;
export function toReadShape<Entity extends object>(
  entity: EntityName<Entity>,
  shape: ReadShape<Entity, object> | ObjectSchema,
): ReadShape<Entity, object> {
  if ('bind' in shape) return shape;
  return new ReadShape(entity, shape as TObject, readFieldsOf(shape));
}

/**
 * Lists the names under which a shape shows a property unchanged: not computed, and not as a part of another record.
 */
export function namesShowing(
  { fields }: Pick<ReadShape<object, object>, 'fields'>,
  property: string,
): readonly string[] {
  const shown = fields.filter(
    ({ path, computed, relatedValue, many }) => path === property && (computed ?? relatedValue ?? many) === undefined,
  );
  return shown.map(({ name }) => name);
}

/** Makes a read shape from existing fields. */
export function shapeOf(entity: EntityName<object>, fields: readonly ReadField[]): ReadShape<object, object> {
  return new ReadShape(entity, objectOf(fields), fields);
}

/** Makes a field of a read shape from its source. */
export function fieldOf(meta: EntityMetadata, name: string, source: unknown): ReadField {
  if (typeof source === 'string') {
    const embeddable = embeddableAt(meta, source);
    if (embeddable === undefined) return { name, path: source, schema: readSchema(shapeField(meta, source)) };
    const fields = Object.keys(embeddable.meta.properties).map((part) => fieldOf(embeddable.meta, part, part));
    return { name, path: source, fields, schema: orNull(objectOf(fields), embeddable.nullable) };
  }
  if (source instanceof ReadShape) {
    const { nullable } = embeddableAt(meta, name) ?? shapeField(meta, name);
    const { fields, schema } = source as ReadShape<object, object>;
    return { name, path: name, fields, schema: orNull(schema, nullable) };
  }
  if (isComputed(source)) {
    for (const path of source.paths) shapeField(meta, path);
    return { name, path: name, computed: source, schema: source.schema };
  }
  if (source instanceof RelatedValue) return relatedValueField(meta, name, source);
  if (source instanceof Many) return manyField(meta, name, source);
  if (isRecord(source) && holdsValue(shapeField(meta, name).property)) return columnField(meta, name, source);
  throw new ImproperlyConfigured(
    `readShape(${meta.className}): "${name}" must be a path, a computed() field or a readShape() of a related record, ` +
      'or many(), exists() or count() of a relation to many; a column may also have a schema of its values',
  );
}

/** Reports whether a property is one column with its own value, whose JSON a schema can describe. */
function holdsValue(property: EntityProperty): boolean {
  return !isReference(property) && !isInlineEmbeddable(property) && !isFile(property);
}

function columnField(meta: EntityMetadata, name: string, given: TSchema): ReadField {
  // Every response contains the column, even if a body may leave it out.
  const schema = without(given, '~optional');
  const { nullable, isNullAssumed } = shapeField(meta, name);
  return {
    name,
    path: name,
    schema: nullable && !isNullAssumed ? withNull(schema) : schema,
    known: knownPart(meta.className, name, schema),
  };
}

function manyField(meta: EntityMetadata, name: string, { source, from, orderBy, limit }: AnyMany): ReadField {
  const [first, ...rest] = typeof source === 'string' ? source.split('.') : [from ?? name];
  const path = first as string;
  const { target } = toManyAt(meta, path);
  const item = typeof source === 'string' ? shownValue(target, rest.join('.')) : shownObject(target, source);
  const schema = Type.Array(item.schema, limit === undefined ? {} : { maxItems: limit });
  return { name, path, schema, many: { shown: item.shown, orderBy, limit } };
}

function relatedValueField(
  meta: EntityMetadata,
  name: string,
  relatedValue: RelatedValue<unknown, unknown>,
): ReadField {
  toManyAt(meta, relatedValue.way);
  const schema = relatedValue.aggregate === 'exists' ? Type.Boolean() : Type.Integer({ minimum: 0 });
  return { name, path: name, relatedValue, schema };
}

type AnyMany = Pick<Many<never, never, unknown, string>, 'source' | 'from' | 'orderBy' | 'limit'>;

/** How each record of a to-many relation is shown. */
interface ShownItem {
  readonly schema: TSchema;
  readonly shown: ManyField['shown'];
}

function shownValue(target: EntityMetadata, path: string): ShownItem {
  const named = path === '' ? onlyPrimaryKey(target)?.name : path;
  if (named === undefined) {
    throw new ImproperlyConfigured(`many() of ${target.className}: its primary key is not one column; name a field`);
  }
  const shown = fieldOf(target, path, named);
  return { schema: shown.schema, shown };
}

function shownObject(target: EntityMetadata, { entity, schema, fields }: ShownShape): ShownItem {
  const { className } = declaredMetadata(entity);
  if (className === target.className) return { schema, shown: fields };
  throw new ImproperlyConfigured(`many() of ${target.className} takes a readShape() of it, got one of ${className}`);
}

function objectOf(fields: readonly ReadField[]): TObject {
  return Type.Object(Object.fromEntries(fields.map(({ name, schema }) => [name, schema])));
}

function orNull(schema: TSchema, nullable: boolean): TSchema {
  return nullable ? nullableObject(schema) : schema;
}
