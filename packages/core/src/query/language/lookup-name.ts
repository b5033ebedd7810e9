import type {
  Fewer,
  FieldName,
  FieldValue,
  PathOf,
  PathValue,
  Related,
  RelationName,
  ToManyName,
} from '../../fields/field-name.ts';
import type { Lookup, LookupWith, Operands } from './lookup.ts';

type OrderLookup = 'gt' | 'gte' | 'lt' | 'lte' | 'range';
type EqualityLookup = 'exact' | 'ne' | 'in' | 'isnull';

/** The lookups that fit a value. */
export type LookupFor<Value> = [Value] extends [readonly unknown[]]
  ? 'contains' | 'overlaps' | 'isnull'
  : [Value] extends [boolean]
    ? EqualityLookup
    : [Value] extends [string]
      ? Exclude<Lookup, 'date' | 'overlaps'>
      : [Value] extends [Date]
        ? EqualityLookup | OrderLookup | 'date'
        : [Value] extends [string | number | bigint | Date]
          ? EqualityLookup | OrderLookup
          : EqualityLookup;

/**
 * Every lookup of an entity: `price`, `price__gte`, `role__name__icontains`, through at most two to-one or to-many
 * relations. The type is built relation by relation. So the names of an entity are computed once, even if many
 * relations lead to it.
 */
export type LookupName<E, Hops extends number = 2> =
  | { [K in FieldName<E> | ToManyName<E>]: K | `${K}__${LookupFor<FieldValue<E, K>>}` }[FieldName<E> | ToManyName<E>]
  | (Hops extends keyof Fewer
      ? { [K in RelationName<E>]: `${K}__${LookupName<Related<E, K>, Fewer[Hops]>}` }[RelationName<E>]
      : never);

/** Every name by which a list can be ordered, through at most two relations. A leading minus means descending. */
export type OrderName<E> = PathOf<E, '__', 2> | `-${PathOf<E, '__', 2>}`;

/** The values of lookups, by name. */
export type Lookups<E> = { readonly [N in LookupName<E>]?: LookupValue<E, N> };

/**
 * The value of a lookup: a value of its field, a list for `in`, two values for `range`, a boolean for `isnull` and
 * `isempty`, a day such as `2026-01-31` for `date`, a list for `contains` and `overlaps` of a list. `exact` and `ne` also accept null if the field may be NULL.
 */
export type LookupValue<E, Name extends string> = Name extends `${infer Path}__${LookupWith<'list'>}`
  ? Operands<PathValue<E, Path, '__'> | PathNull<E, Path>>['list']
  : Name extends `${infer Path}__${LookupWith<'bounds'>}`
    ? Operands<PathValue<E, Path, '__'>>['bounds']
    : Name extends `${string}__${LookupWith<'boolean'>}`
      ? boolean
      : Name extends `${string}__${LookupWith<'day'>}`
        ? string
        : Name extends `${infer Path}__${'exact' | 'ne'}`
          ? PathValue<E, Path, '__'> | PathNull<E, Path>
          : Name extends `${infer Path}__${Exclude<LookupWith<'value'>, 'exact' | 'ne'>}`
            ? Compared<PathValue<E, Path, '__'>>
            : PathValue<E, Name, '__'> | PathNull<E, Name>;

/** The elements of a list may come from a constant. */
type Compared<Value> = Value extends readonly (infer Element)[] ? readonly Element[] : Value;

/** The null of a field. A value behind a relation may always be null, because the related record may be missing. */
type PathNull<E, Path extends string> = Path extends keyof E ? Extract<E[Path], null> : null;
