import type { ConditionPathOf, PathOf, PathValue } from '../fields/field-name.ts';
import type { Lookup } from './lookup.ts';

type OrderLookup = 'gt' | 'gte' | 'lt' | 'lte' | 'range';
type EqualityLookup = 'exact' | 'ne' | 'in' | 'isnull';

/** The lookups that fit a value. */
export type LookupFor<Value> = [Value] extends [boolean]
  ? EqualityLookup
  : [Value] extends [string]
    ? Lookup
    : [Value] extends [number | bigint | Date]
      ? EqualityLookup | OrderLookup
      : EqualityLookup;

/**
 * Every lookup of an entity: `price`, `price__gte`, `role__name__icontains`.
 */
export type LookupName<E> = ConditionPathOf<E, '__'> extends infer Path extends string
  ? Path extends string
    ? Path | `${Path}__${LookupFor<PathValue<E, Path, '__'>>}`
    : never
  : never;

/** Every name that a list can be ordered by; descending with a minus in front. */
export type OrderName<E> = PathOf<E, '__'> | `-${PathOf<E, '__'>}`;

/** What each lookup takes. */
export type Lookups<E> = { readonly [N in LookupName<E>]?: LookupValue<E, N> };

/** What a lookup takes: a value of its field, a list for `in`, two values for `range`, a boolean for `isnull`. */
export type LookupValue<E, Name extends string> = Name extends `${infer Path}__in`
  ? readonly PathValue<E, Path, '__'>[]
  : Name extends `${infer Path}__range`
    ? readonly [PathValue<E, Path, '__'>, PathValue<E, Path, '__'>]
    : Name extends `${string}__isnull`
      ? boolean
      : Name extends `${infer Path}__${Exclude<Lookup, 'in' | 'range' | 'isnull'>}`
        ? PathValue<E, Path, '__'>
        : PathValue<E, Name, '__'>;
