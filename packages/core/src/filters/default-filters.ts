import type { FilterClass } from './filter.ts';
import { JsonLogicFilter } from './json-logic-filter.ts';
import { OrderingFilter } from './ordering-filter.ts';
import { QueryParameterFilter } from './query-parameter-filter.ts';
import { SearchFilter } from './search-filter.ts';

/**
 * The filters of a view that lists none, in the order in which they apply. To add to them, spread them:
 * `filters: [...DEFAULT_FILTERS, InStockFilter]`.
 */
export const DEFAULT_FILTERS: readonly FilterClass[] = Object.freeze([
  SearchFilter,
  JsonLogicFilter,
  QueryParameterFilter,
  OrderingFilter,
]);
