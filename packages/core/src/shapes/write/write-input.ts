import type { Opt, Primary } from '@mikro-orm/core';
import type { Static, TOptional, TSchema } from 'typebox';
import type { FieldName, Related, ToManyName, ToOneName, Unbranded } from '../../fields/field-name.ts';
import type { NamedUpload } from '../../files/direct-uploads.ts';
import type { FileField } from '../../files/file-field.ts';
import type { FileLink, StoredFile } from '../../files/file-type.ts';
import type { PrimaryKeyName } from '../../mikro/entities.ts';
import type { Renamed } from './renamed-field.ts';
import type { NamedSchema, ObjectSchema } from '../schema-object.ts';
import type { Nested, NestedItem, NestedRecord, Refs } from './to-many-input.ts';
import type { Flat, NullOf, PropertyValue, ToWire, WireValue } from '../wire-value.ts';

/** The names of all properties that a write shape may have. */
export type WritableName<Entity> = FieldName<Entity> | ToManyName<Entity>;

/**
 * The fields of a write shape with an override: a schema, a reference by `'role.name'`, `refs(…)` for a to-many
 * relation, `nested(…)`, or a property with another name.
 */
export type WriteOverrides<Entity, Names extends PropertyKey> = {
  readonly [Name in Names]: Name extends WritableName<Entity>
    ? SourceOf<Entity, Name> | Renamed<WritableName<Entity>, unknown>
    : OtherSource<Entity>;
};

/** The sources of a field whose name is not a property. */
export type OtherSource<Entity> = WritableName<Entity> | ReferenceOf<Entity> | AnyRenamed<Entity>;

type ReferenceOf<Entity> =
  | { [Name in ToOneName<Entity>]: PathBy<Entity, Name> }[ToOneName<Entity>]
  | { [Name in ToManyName<Entity>]: RefsOf<Entity, Name> }[ToManyName<Entity>];

type AnyRenamed<Entity> = {
  [Name in WritableName<Entity>]: Renamed<Name, SourceOf<Entity, Name> | undefined>;
}[WritableName<Entity>];

type SourceOf<Entity, Name> =
  Name extends ToManyName<Entity>
    ? RefsOf<Entity, Name> | Nested<Related<Entity, Name> & object, object>
    : Name extends FieldName<Entity>
      ?
          | SchemaOf<JsonType<PropertyValue<Entity, Name>>>
          | (PropertyValue<Entity, Name> extends StoredFile ? FileField : never)
          | (Name extends ToOneName<Entity>
              ? PathBy<Entity, Name> | Nested<Related<Entity, Name> & object, object>
              : never)
      : never;

type PathBy<Entity, Name extends ToOneName<Entity>> = `${Name}.${FieldName<Related<Entity, Name>>}`;

type RefsOf<Entity, Name extends ToManyName<Entity>> = Refs<Name | `${Name}.${FieldName<Related<Entity, Name>>}`>;

/** A schema. If it has a JSON type, the type must be one of these. Not another source of a field. */
type SchemaOf<Type extends string> = TSchema &
  object & { readonly type?: Type; readonly max?: never; readonly source?: never };

/** The JSON types in which a value may be written. A text may also be a decimal, which a number can write. */
type JsonType<Value> = 0 extends 1 & Value
  ? string
  : Value extends Date | Uint8Array
    ? 'string'
    : Value extends string | bigint
      ? 'string' | 'number' | 'integer'
      : Value extends number
        ? 'number' | 'integer'
        : Value extends boolean
          ? 'boolean'
          : string;

/** Fields that are required or optional in spite of their columns. */
export interface WriteOptions<Name extends string = string> {
  /** Required on create and PUT, although the column is nullable or has a default. */
  readonly required?: readonly Name[];
  /** Optional, although the column has no default. Use it for fields that a hook of the view fills. */
  readonly optional?: readonly Name[];
}

/** The input object of a write shape. */
export type WriteInput<
  Entity,
  Names extends string,
  Overrides,
  Required extends string,
  Optional extends string,
> = Named<
  MakeOptional<
    { [Name in Exclude<Names, keyof Overrides>]: InputValue<Entity, Name> } & {
      -readonly [Name in keyof Overrides & string]: OverriddenValue<
        Entity,
        WrittenTo<Name, Overrides[Name]> & keyof Entity,
        Overrides[Name]
      >;
    },
    Optional | Exclude<LeftOut<Entity, Exclude<Names, keyof Overrides>> | OverridesLeftOut<Entity, Overrides>, Required>
  >,
  NamesOf<Overrides>
>;

/** Adds the properties of renamed fields to a body, only for the types. */
type Named<Input, Names> = [keyof Names] extends [never] ? Input : Input & { readonly '~names'?: Names };

/** The properties of the fields that have another name in a body. */
type NamesOf<Overrides> = {
  readonly [Name in keyof Overrides as WrittenTo<Name, Overrides[Name]> extends Name ? never : Name]: WrittenTo<
    Name,
    Overrides[Name]
  >;
};

/** The values of a body, by the properties that they are written to. */
export type ByProperty<Input> = Input extends unknown
  ? '~names' extends keyof Input
    ? {
        [
          Name in keyof Input as Name extends '~names'
            ? never
            : Name extends keyof NonNullable<Input['~names']>
              ? NonNullable<Input['~names']>[Name] & string
              : Name
        ]: Input[Name];
      }
    : Input
  : never;

/** The fields of two bodies. Fields of the second replace fields with the same name. */
export type ExtendedBody<Input, Added> = Named<
  Flat<Omit<Input, keyof Added | '~names'> & Omit<Added, '~names'>>,
  Flat<Omit<NamesIn<Input>, keyof Added> & NamesIn<Added>>
>;

/** Some fields of a body. */
export type PickedBody<Input, Names extends keyof Input> = Named<
  Flat<Pick<Input, Names>>,
  Pick<NamesIn<Input>, Names & keyof NamesIn<Input>>
>;

type NamesIn<Input> = '~names' extends keyof Input ? NonNullable<Input['~names']> : Record<never, never>;

/** A body as clients send it, without the type information about its fields, in nested records too. */
export type SentBody<Input> = {
  [Name in keyof Input as Exclude<Name, '~names' | '~nested'>]: SentValue<Input[Name]>;
};

/** The body of PUT (`replace`) or PATCH (`change`). Each nested record has the body of the same method. */
export type UpdateBody<Input, Mode extends 'replace' | 'change'> = Mode extends 'change'
  ? { [Name in keyof Input]?: UpdateValue<Input[Name], Mode> }
  : { [Name in keyof Input]: UpdateValue<Input[Name], Mode> };

type UpdateValue<Value, Mode extends 'replace' | 'change'> = Value extends {
  readonly '~nested'?: infer Bodies;
}
  ? '~nested' extends keyof Value
    ? UpdateBody<NonNullable<Bodies>[Mode & keyof NonNullable<Bodies>], Mode>
    : Value
  : Value;

/** The body of an update. A file may also be the link of the current file, as it was read. */
export type KeepingFiles<Body> = {
  [Name in keyof Body]: [Extract<Body[Name], Blob>] extends [never] ? Body[Name] : Body[Name] | FileLink;
};

type SentValue<Value> = Value extends readonly (infer Item)[]
  ? SentItem<Item>[]
  : '~nested' extends keyof Value
    ? SentBody<Value>
    : Value;

type SentItem<Item> = Item extends readonly unknown[] ? Item : Item extends object ? SentBody<Item> : Item;

/**
 * A validated body whose references are resolved: the values that the entity's properties take (a Date for
 * a datetime, the related entity for a reference, an object for a nested record).
 */
export type ResolvedData<Entity, Input> = Resolved<Entity, ByProperty<Input>>;

type Resolved<Entity, Input> = {
  [Name in keyof Input as Exclude<Name, '~nested'>]: Name extends ToOneName<Entity>
    ? NonNullable<Input[Name]> extends object
      ? ResolvedData<Related<Entity, Name>, NonNullable<Input[Name]>> | NullOf<Entity[Name]>
      : Related<Entity, Name> | NullOf<Entity[Name]>
    : Name extends ToManyName<Entity>
      ? ResolvedItem<Related<Entity, Name>, ItemOf<Input[Name]>>[]
      : Name extends keyof Entity
        ? PropertyValue<Entity, Name> | Extract<Input[Name], null>
        : Input[Name];
};

/** An item that is a reference becomes the related entity. An item that is an object is the data of a child. */
type ResolvedItem<Entity, Item> = Item extends object ? ResolvedData<Entity, Item> : Entity;

/** The property that a field writes. */
type WrittenTo<Name, Override> =
  Override extends Renamed<infer Property, unknown>
    ? Property
    : Override extends Refs<infer Path>
      ? HeadOf<Path>
      : Override extends string
        ? HeadOf<Override>
        : Name;

type HeadOf<Path> = Path extends `${infer Head}.${string}` ? Head : Path;

type ItemOf<List> = NonNullable<List> extends readonly (infer Item)[] ? Item : never;

/** The value of a field as a client sends it. A to-many relation is a list of keys. */
type InputValue<Entity, Name extends string> =
  Name extends ToManyName<Entity> ? ToWire<Unbranded<Primary<Related<Entity, Name>>>>[] : WireValue<Entity, Name>;

type OverriddenValue<Entity, Name extends keyof Entity, Override> = Override extends string
  ? InputValue<Entity, Override>
  : Override extends Renamed<string, infer Source>
    ? [Source] extends [undefined]
      ? InputValue<Entity, Name & string>
      : OverriddenValue<Entity, Name, Source>
    : Override extends FileField<infer Direct>
      ? Blob | (true extends Direct ? NamedUpload : never) | NullOf<Entity[Name]>
      : Override extends Refs<infer Path>
        ? RefsValue<Entity, Path>[]
        : Override extends Nested<infer Child, infer Input, infer Update>
          ? Name extends ToManyName<Entity>
            ? NestedItem<Child, Input, Update>[]
            : NestedRecord<Child, Input, Update> | NullOf<Entity[Name]>
          : Override extends TSchema
            ? Static<Override>
            : never;

type RefsValue<Entity, Path extends string> = Path extends `${infer Name}.${infer Key}`
  ? Name extends ToManyName<Entity>
    ? WireValue<Related<Entity, Name>, Key>
    : never
  : Path extends ToManyName<Entity>
    ? ToWire<Unbranded<Primary<Related<Entity, Path>>>>
    : never;

/** The names of columns that need no value: they are nullable, or the entity or the database sets them. */
type LeftOut<Entity, Names> = {
  [Name in Names & keyof Entity]: Name extends ToManyName<Entity>
    ? Name
    : CanBeLeftOut<Entity, Name> extends true
      ? Name
      : never;
}[Names & keyof Entity];

type OverridesLeftOut<Entity, Overrides> = {
  [Name in keyof Overrides]: IsLeftOut<Entity, WrittenTo<Name, Overrides[Name]>, Overrides[Name]> extends true
    ? Name
    : never;
}[keyof Overrides];

type IsLeftOut<Entity, Property, Override> =
  Override extends Renamed<string, infer Source>
    ? IsLeftOut<Entity, Property, Source>
    : Override extends string | FileField | { readonly shape: unknown; readonly update: boolean } | undefined
      ? [LeftOut<Entity, Property>] extends [never]
        ? false
        : true
      : Override extends TOptional | { readonly max: number }
        ? true
        : false;

type CanBeLeftOut<Entity, Name extends keyof Entity> = [NullOf<Entity[Name]>] extends [never]
  ? keyof Opt.Brand extends keyof NonNullable<Entity[Name]>
    ? true
    : Name extends PrimaryKeyName<Entity>
      ? NonNullable<Entity[Name]> extends number | bigint
        ? true
        : false
      : false
  : true;

type MakeOptional<Values, Optional> = Flat<
  { [Name in Exclude<keyof Values, Optional>]: Values[Name] } & {
    [Name in Extract<keyof Values, Optional>]?: Values[Name];
  }
>;

/**
 * The type of a hand-written schema for bodies of an entity. Each of its properties must be a property of the entity.
 * Intersect it with the type of the schema; then unknown properties do not compile.
 *
 * @example
 * declare function check<Schema extends TObject>(schema: Schema & WritableSchema<Product, Schema>): void;
 */
export type WritableSchema<Entity, Schema extends ObjectSchema = ObjectSchema> = NamedSchema<Schema, FieldName<Entity>>;
