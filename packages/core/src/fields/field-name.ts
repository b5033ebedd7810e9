import type {
  EntityKey,
  ExpandProperty,
  Hidden,
  HiddenProps,
  Opt,
  Primary,
  PrimaryKeyProp,
  Scalar,
} from '@mikro-orm/core';
import type { ObjectIdLike } from './object-id.ts';

/** The name of every property of an entity that is a column: a scalar, or a to-one relation (which is its foreign key). */
export type FieldName<E> = { [K in EntityKey<E>]: IsCollection<E[K]> extends true ? never : K }[EntityKey<E>];

/** The name of every relation to one other record. */
export type ToOneName<E> = {
  [K in EntityKey<E>]: IsCollection<E[K]> extends true ? never : IsEntity<Related<E, K>> extends true ? K : never;
}[EntityKey<E>];

/**
 * The name of every column whose value may identify a record in a path: a text or a whole number that is never NULL.
 */
export type LookupField<E> = {
  [K in FieldName<E>]: [E[K]] extends [string | number | bigint] ? K : never;
}[FieldName<E>];

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
      : 0 extends 1 & E[K]
        ? never
        : NonNullable<E[K]> extends object
          ? IsEntity<Related<E, K>> extends true
            ? never
            : K
          : never;
}[EntityKey<E>];

/** The entity at the other end of a relation. */
export type Related<E, K extends keyof E> = ExpandProperty<NonNullable<E[K]>>;

/** The columns at which a path may end: all, those that are not hidden, or texts. */
type LastName<E, Last extends PathEnd> = Last extends 'any'
  ? FieldName<E>
  : {
      [K in FieldName<E>]: Last extends 'shown'
        ? IsHidden<E, K> extends true
          ? never
          : K
        : [Extract<KeyValue<E, K>, string>] extends [never]
          ? never
          : K;
    }[FieldName<E>];

/** The kinds of columns at which a path may end. */
export type PathEnd = 'any' | 'shown' | 'text';

/**
 * Every path from an entity to a column, through at most `Hops` relations, to one or (`Via`) to many. The number of
 * names grows with every hop. For longer paths, `fieldPath` resolves a path at run time.
 *
 * @example
 * type Path = PathOf<Account, '.'>;   // 'id' | 'email' | 'role' | 'role.id' | 'role.name' | …
 */
export type PathOf<
  E,
  Separator extends string,
  Hops extends number = 3,
  Last extends PathEnd = 'any',
  Via extends 'one' | 'many' = 'one',
> =
  | LastName<E, Last>
  | (Via extends 'many' ? (Last extends 'any' ? ToManyName<E> : never) : never)
  | { [K in EmbeddedName<E>]: `${K}${Separator}${LastName<Related<E, K>, Last>}` }[EmbeddedName<E>]
  | (Hops extends keyof Fewer
      ? {
          [K in WayName<E, Via>]: `${K}${Separator}${PathOf<Related<E, K>, Separator, Fewer[Hops], Last, Via>}`;
        }[WayName<E, Via>]
      : never);

type WayName<E, Via> = Via extends 'many' ? RelationName<E> : ToOneName<E>;

/** The value of a field in a lookup: a relation accepts its primary key or an entity. */
export type FieldValue<E, K extends keyof E> =
  IsEntity<Related<E, K>> extends true
    ? OrText<Primary<Related<E, K>>> | Related<E, K>
    : OrText<Unbranded<ExpandScalarReference<NonNullable<E[K]>>>>;

/** An ObjectId may also be its text. */
type OrText<Value> = Value extends ObjectIdLike ? Value | string : Value;

/** The value at the end of a path. */
export type PathValue<E, Path extends string, Separator extends string> = Path extends keyof E
  ? FieldValue<E, Path>
  : Path extends `${infer Head}${Separator}${infer Rest}`
    ? Head extends keyof E
      ? PathValue<Related<E, Head>, Rest, Separator>
      : never
    : never;

/** A value type without MikroORM's brands, such as `Hidden` and `Opt`. */
export type Unbranded<T> = T extends Hidden<infer Shown> ? (Shown extends Opt<infer Value> ? Value : Shown) : T;

/** Counts one hop less. */
export interface Fewer {
  readonly 3: 2;
  readonly 2: 1;
  readonly 1: 0;
}

/** The value of a column; for a relation, its foreign key. */
type KeyValue<E, K extends keyof E> =
  IsEntity<Related<E, K>> extends true ? Primary<Related<E, K>> : ExpandScalarReference<NonNullable<E[K]>>;

/** `any` has every brand, so it does not count as branded. */
type IsHidden<E, K extends keyof E> = 0 extends 1 & E[K]
  ? IsNamedHidden<E, K>
  : keyof Hidden.Brand extends keyof NonNullable<E[K]>
    ? true
    : IsNamedHidden<E, K>;

type IsNamedHidden<E, K> = E extends { [HiddenProps]?: infer Name } ? (K extends Name ? true : false) : false;

type ExpandScalarReference<T> = T extends { unwrap(): infer Value } ? NonNullable<Value> : T;
type IsCollection<T> = NonNullable<T> extends { loadCount(...args: never[]): unknown } ? true : false;
type IsEntity<T> = T extends Scalar | readonly unknown[]
  ? false
  : typeof PrimaryKeyProp extends keyof T
    ? true
    : Extract<keyof T, 'id' | '_id' | 'uuid'> extends never
      ? false
      : true;
