import type { EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { ParameterDeclaration, QueryParameters } from '../parameters.ts';
import type { QuerySet } from '../query/queryset.ts';

/** What a view declares about its lists, as its filters see it. */
export interface FilterTarget {
  /** The name of the view's class, for messages. */
  readonly name: string;
  readonly meta: EntityMetadata;
  /** Paths with `__`, each with an optional prefix: `^` starts-with, `=` equals. */
  readonly searchFields: readonly string[];
  /** Query parameter → lookup: `{ min_price: 'price__gte' }`. */
  readonly filterFields: Readonly<Record<string, string>>;
  /** Sort name → path with `__`. */
  readonly orderingFields: Readonly<Record<string, string>>;
  /** Paths with a dot. Default: the fields that `filterFields` reach. */
  readonly jsonLogicFields?: readonly string[];
}

/** A filter as a view lists it: the class. Each view gets an instance of its own when it is registered. */
export type FilterClass = new (target: FilterTarget) => Filter;

/**
 * Narrows or orders a list by what the query string asks. A view applies its filters one after the other, in the order
 * of its `filters`.
 *
 * There is one instance a view, made at registration: resolve names in the constructor, where a mistake throws
 * `ImproperlyConfigured`, and keep no state of a request on `this`.
 *
 * @example
 * class InStockFilter extends Filter {
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
export abstract class Filter {
  protected readonly target: FilterTarget;

  constructor(target: FilterTarget) {
    this.target = target;
  }

  /**
   * The query parameters that this filter reads: a parameter that nothing declares is refused. Read once, at
   * registration; none where the view declares nothing for the filter to work on.
   */
  abstract readonly parameters: readonly ParameterDeclaration[];

  /**
   * The query set with this filter's conditions or order; the same one where its parameters are absent.
   *
   * @throws InvalidUsage (400), which names the parameter and says what was expected, for a value that does not fit
   */
  abstract apply<E extends object>(
    queryset: QuerySet<E>,
    parameters: QueryParameters,
    request: FastifyRequest,
  ): QuerySet<E>;
}
