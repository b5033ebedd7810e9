import type { EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { Awaitable } from '../support/awaitable.ts';
import { ImproperlyConfigured, InvalidUsage } from '../errors/errors.ts';
import type { FieldPath } from '../fields/field-path.ts';
import { isRecord } from '../support/json.ts';
import { checkOptionNames, prefixErrors, wrongOption } from '../errors/options.ts';
import type { ParameterDeclaration, QueryParameters } from '../http/parameters.ts';
import type { QuerySet } from '../query/queryset.ts';
import { compileValidator } from '../schema/validator.ts';
import type { RelatedValue } from '../shapes/read/related-value.ts';
import type { JsonValue } from './json-value.ts';
import type { ValueLookup } from './value-lookup.ts';
import type { ViewSearch } from './text-search.ts';

/** The declarations of a view about its lists, for its filters. */
export interface FilterTarget {
  /** The name of the view's class, for messages. */
  readonly name: string;
  readonly meta: EntityMetadata;
  /** Paths with `__`, each with an optional prefix: `^` starts-with, `=` equals. */
  readonly searchFields: readonly string[];
  /** The search of a view that declares a `TextSearch`. `searchFields` is then empty. */
  readonly search?: ViewSearch;
  /** Query parameter → lookup, `{ min_price: 'price__gte' }`, or a value computed from related records. */
  readonly filterFields: Readonly<Record<string, string | ValueLookup>>;
  /** Sort name → path with `__`, or a value computed from related records or in JSON. */
  readonly orderingFields: Readonly<Record<string, string | RelatedValue<never, unknown> | JsonValue<never, unknown>>>;
  /** Paths with a dot, and values in JSON. Default: the fields of `filterFields` that every read shape of the view shows. */
  readonly jsonLogicFields?: readonly (string | JsonValue<never, unknown>)[];
  /** Reports whether every read shape of the view shows a field. Without it, no field counts as shown. */
  readonly isShown?: (path: FieldPath) => boolean;
}

/** The options that a view declares for its filters. */
export type FilterOption = Exclude<keyof FilterTarget, 'name' | 'meta' | 'isShown' | 'search'>;

/** The class of a filter, as a view lists it. Each view creates one instance at registration. */
export interface FilterClass {
  new (target: FilterTarget): Filter;
  /** See `Filter.reads`. */
  readonly reads?: readonly FilterOption[] | undefined;
}

/**
 * Narrows or orders a list by the query string. A view applies its filters one after another, in the order of its `filters`.
 *
 * Each view has one instance, made at registration. Resolve names in the constructor, which may throw `ImproperlyConfigured`. Keep no state
 * of a request on `this`.
 *
 * @example
 * class InStockFilter extends Filter {
 *   static override readonly reads = [];
 *   readonly parameters = [{ name: 'in_stock', schema: Type.Boolean({ description: 'Only what is in stock' }) }];
 *
 *   apply<E extends object>(queryset: QuerySet<E>, parameters: QueryParameters): QuerySet<E> {
 *     const text = parameters.one('in_stock');
 *     if (text === undefined) return queryset;
 *     if (text !== 'true') throw invalidParameter('in_stock', 'must be true');
 *     return queryset.where(compare(fieldPath(queryset.meta, 'stock', '.'), 'gt', 0));
 *   }
 * }
 */
export abstract class Filter<Options extends object = object> {
  /** The schema of the options that `with` takes. Wrong options fail at start. Default: undefined, any object. */
  static readonly options: TSchema | undefined = undefined;

  /**
   * The options of `target` that the filter reads. If a view lists its own filters and declares an option that none of them reads,
   * registration fails. This finds a forgotten default filter. Default: undefined, the filter may read any.
   */
  static readonly reads: readonly FilterOption[] | undefined = undefined;

  /**
   * Returns the same filter with options, for the `filters` of a view. A view may list it several times. The filter reads them as
   * `this.options`, in its constructor too.
   *
   * @example
   * class NicknameFilter extends Filter<{ field: string }> {
   *   static override readonly options = Type.Object({ field: Type.String() });
   *   readonly parameters = [{ name: 'nickname', schema: Type.String() }];
   *   async apply<E extends object>(queryset: QuerySet<E>, parameters: QueryParameters) {
   *     const nickname = parameters.one('nickname');
   *     if (nickname === undefined) return queryset;
   *     const name = await redis.get(nickname);
   *     return queryset.where(compare(fieldPath(queryset.meta, this.options.field, '.'), 'exact', name));
   *   }
   * }
   * const filters = [...DEFAULT_FILTERS, NicknameFilter.with({ field: 'name' })];
   */
  static with<Options extends object, Class extends new (target: FilterTarget) => Filter<Options>>(
    this: Class & (new (target: FilterTarget) => Filter<Options>),
    options: NoInfer<Options>,
  ): Class {
    const given: unknown = options;
    if (!isRecord(given)) throw wrongOption(`${this.name}.with()`, 'options', 'an object', given);
    return configureFilter(this, Object.freeze({ ...given })) as unknown as Class;
  }

  protected readonly target: FilterTarget;
  /** The options of `with`; empty without it. */
  protected readonly options: Options;

  constructor(target: FilterTarget) {
    this.target = target;
    this.options = optionsOf(new.target, target) as Options;
  }

  /**
   * The query parameters that this filter reads. Requests with undeclared parameters are rejected. The library reads
   * this once, at registration. Return none if the view declares nothing for the filter.
   */
  abstract readonly parameters: readonly ParameterDeclaration[];

  /**
   * Returns the query set with this filter's conditions or order, or the same query set if its parameters are absent. It may return a
   * promise, to call another service first. The next filters wait for it.
   *
   * @throws InvalidUsage (400) for a wrong value, with the parameter and what was expected
   */
  abstract apply<E extends object>(
    queryset: QuerySet<E>,
    parameters: QueryParameters,
    request: FastifyRequest,
  ): Awaitable<QuerySet<E>>;
}

/** The key of the options that `with` stores on a class. */
const GIVEN: unique symbol = Symbol('viewset.filter-options');

/** Makes a subclass that has options. */
function configureFilter(Base: new (target: FilterTarget) => object, options: object): object {
  const Configured = class extends Base {};
  Object.defineProperty(Configured, 'name', { value: Base.name });
  return Object.defineProperty(Configured, GIVEN, { value: options });
}

interface ConfiguredClass {
  readonly name: string;
  readonly options?: TSchema | undefined;
  readonly [GIVEN]?: object;
}

/** @throws ImproperlyConfigured for options that do not fit the schema of the class */
function optionsOf(Class: ConfiguredClass, { name }: FilterTarget): object {
  const { options: schema, [GIVEN]: given = {} } = Class;
  if (schema === undefined) return given;
  const { properties } = schema as { properties?: object };
  if (properties !== undefined) checkOptionNames(`${name}: options of ${Class.name}`, given, Object.keys(properties));
  const validate = prefixErrors(`${name}: options of ${Class.name}`, () => compileValidator(schema, 'body'));
  try {
    return validate(given) as object;
  } catch (error) {
    if (!(error instanceof InvalidUsage)) throw error;
    const problems = (error.details ?? []).map(({ path, message }) => `"${path.slice(1)}" ${message}`).join(', ');
    throw new ImproperlyConfigured(
      `${name}: options of ${Class.name}: ${problems}; give them by ${Class.name}.with({ … })`,
      {
        cause: error,
      },
    );
  }
}

/**
 * Resolves a name that a view declares. Adds the view, the option and the wrong entry to an error.
 *
 * @example
 * resolveOption('ProductViewSet', 'searchFields', 'nmae', () => fieldPath(meta, 'nmae', '__'));
 * // ImproperlyConfigured: ProductViewSet: searchFields "nmae": Product has no field "nmae"; did you mean "name"? …
 */
export function resolveOption<T>(view: string, option: string, entry: string, resolve: () => T): T {
  return prefixErrors(`${view}: ${option} "${entry}"`, resolve);
}
