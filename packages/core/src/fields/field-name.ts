import type { EntityKey, ExpandProperty, Primary, PrimaryKeyProp, Scalar } from '@mikro-orm/core';

/** The name of every property of an entity that is a column: a scalar, or a to-one relation (which is its foreign key). */
export type FieldName<E> = { [K in EntityKey<E>]: IsCollection<E[K]> extends true ? never : K }[EntityKey<E>];

/** The name of every relation to one other record. */
export type ToOneName<E> = {
  [K in EntityKey<E>]: IsCollection<E[K]> extends true ? never : IsEntity<Related<E, K>> extends true ? K : never;
}[EntityKey<E>];

/** The name of every relation to many other records. */
export type ToManyName<E> = { [K in EntityKey<E>]: IsCollection<E[K]> extends true ? K : never }[EntityKey<E>];

/** The name of every relation of an entity, to one or to many. */
export type RelationName<E> = ToOneName<E> | ToManyName<E>;

/** The name of every property that holds an object: an embeddable, or JSON of a declared type. */
export type EmbeddedName<E> = {
  [K in EntityKey<E>]: IsCollection<E[K]> extends true
    ? never
    : NonNullable<E[K]> extends Scalar | readonly unknown[] | { unwrap(): unknown }
      ? never
      : NonNullable<E[K]> extends object
        ? IsEntity<Related<E, K>> extends true
          ? never
          : K
        : never;
}[EntityKey<E>];

/** The entity at the other end of a relation. */
export type Related<E, K extends keyof E> = ExpandProperty<NonNullable<E[K]>>;

/**
 * Every path from an entity to a column, through at most `Hops` to-one relations. The number of names grows with every
 * step; what lies further can be said to `fieldPath`, which resolves a path at run time.
 *
 * @example
 * PathOf<Account, '.'>   // 'id' | 'email' | 'role' | 'role.id' | 'role.name' | …
 */
export type PathOf<E, Separator extends string, Hops extends number = 3> =
  | FieldName<E>
  | { [K in EmbeddedName<E>]: `${K}${Separator}${FieldName<Related<E, K>>}` }[EmbeddedName<E>]
  | (Hops extends keyof Fewer
      ? { [K in ToOneName<E>]: `${K}${Separator}${PathOf<Related<E, K>, Separator, Fewer[Hops]>}` }[ToOneName<E>]
      : never);

/** The value of a field, as a lookup takes it: a relation by its primary key or as an entity. */
export type FieldValue<E, K extends keyof E> =
  IsEntity<Related<E, K>> extends true
    ? Primary<Related<E, K>> | Related<E, K>
    : ExpandScalarReference<NonNullable<E[K]>>;

/** The value at the end of a path. */
export type PathValue<E, Path extends string, Separator extends string> = Path extends keyof E
  ? FieldValue<E, Path>
  : Path extends `${infer Head}${Separator}${infer Rest}`
    ? Head extends keyof E
      ? PathValue<Related<E, Head>, Rest, Separator>
      : never
    : never;

/** One step less of a path. */
export interface Fewer {
  readonly 3: 2;
  readonly 2: 1;
  readonly 1: 0;
}

type ExpandScalarReference<T> = T extends { unwrap(): infer Value } ? NonNullable<Value> : T;
type IsCollection<T> = NonNullable<T> extends { loadCount(...args: never[]): unknown } ? true : false;
type IsEntity<T> = T extends Scalar | readonly unknown[]
  ? false
  : typeof PrimaryKeyProp extends keyof T
    ? true
    : Extract<keyof T, 'id' | '_id' | 'uuid'> extends never
      ? false
      : true;
