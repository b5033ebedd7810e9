import type { Primary, ScalarReference } from '@mikro-orm/core';
import type { Related, ToOneName, Unbranded } from '../fields/field-name.ts';
import type { ObjectIdLike } from '../fields/object-id.ts';
import type { FileLink, StoredFile } from '../files/file-type.ts';

/** The JavaScript value at the end of a path: null if the column, or a relation on the way, may be NULL. */
export type ReadValue<E, Path extends string> = Path extends keyof E
  ? PropertyValue<E, Path> | NullOf<E[Path]>
  : Path extends `${infer Head}.${infer Rest}`
    ? Head extends keyof E
      ? ReadValue<Related<E, Head>, Rest> | NullOf<E[Head]>
      : never
    : never;

/** The JSON value at the end of a path. */
export type WireValue<E, Path extends string> = ToWire<ReadValue<E, Path>>;

/** The JavaScript value of a property in a write: a related record is its primary key. */
export type PropertyValue<E, Name extends keyof E> =
  Name extends ToOneName<E> ? Unbranded<Primary<Related<E, Name>>> : Unbranded<Unreferenced<NonNullable<E[Name]>>>;

/** The JSON type of a value. A Date, a bigint, an ObjectId and bytes (as base64) are strings; a file is a link. Elements of a list too. */
export type ToWire<T> = T extends Date | bigint | Uint8Array | ObjectIdLike
  ? string
  : T extends StoredFile
    ? FileLink
    : T extends readonly (Date | bigint | Uint8Array | null)[]
      ? ToWire<T[number]>[]
      : T;

/** null for a value that may be null or undefined, because JSON only has null. */
export type NullOf<T> = T extends null | undefined
  ? null
  : T extends ScalarReference<infer Value>
    ? NullOf<Value>
    : never;

/** Merges an intersection into one object type, for readable messages and hovers. */
export type Flat<T> = { [K in keyof T]: T[K] } & {};

type Unreferenced<T> = T extends ScalarReference<infer Value> ? NonNullable<Value> : T;
