import { ImproperlyConfigured } from '../errors/errors.ts';
import type { FilterClass, FilterTarget } from './filter.ts';
import { JsonLogicFilter } from './json-logic-filter.ts';
import { OrderingFilter } from './ordering-filter.ts';
import { QueryParameterFilter } from './query-parameter-filter.ts';
import { SearchFilter } from './search-filter.ts';

/**
 * The filters of a view without `filters`, in the order in which they apply. To add to them, spread them:
 * `filters: [...DEFAULT_FILTERS, InStockFilter]`.
 */
export const DEFAULT_FILTERS: readonly (
  | typeof SearchFilter
  | typeof JsonLogicFilter
  | typeof QueryParameterFilter
  | typeof OrderingFilter
)[] = Object.freeze([SearchFilter, JsonLogicFilter, QueryParameterFilter, OrderingFilter]);

/**
 * Rejects an option that a view declares if none of its listed filters reads it.
 *
 * @throws ImproperlyConfigured which names the option and the default filters that read it
 */
export function checkOptionsAreRead(target: FilterTarget, classes: readonly FilterClass[]): void {
  for (const option of ['searchFields', 'filterFields', 'jsonLogicFields', 'orderingFields'] as const) {
    const isDeclared =
      Object.keys(target[option] ?? {}).length > 0 || (option === 'searchFields' && target.search !== undefined);
    if (!isDeclared || classes.some(({ reads }) => reads?.includes(option) ?? true)) continue;
    const listed = classes.map(({ name }) => name).join(', ');
    const readers = (DEFAULT_FILTERS as readonly FilterClass[])
      .filter(({ reads }) => reads?.includes(option))
      .map(({ name }) => name);
    throw new ImproperlyConfigured(
      `${target.name}: option "${option}" is read by none of the view's filters (${listed}); by default ` +
        `${readers.join(' and ')} would. To add to the default filters: ` +
        `filters: [...DEFAULT_FILTERS, ${listed}]`,
    );
  }
}
