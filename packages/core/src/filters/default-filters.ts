import { ImproperlyConfigured } from '../errors.ts';
import { Filter, type FilterClass, type FilterTarget } from './filter.ts';
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

/** The options that a view declares for its filters, and the default filters that read each. */
const READERS = {
  searchFields: [SearchFilter],
  filterFields: [QueryParameterFilter, JsonLogicFilter],
  jsonLogicFields: [JsonLogicFilter],
  orderingFields: [OrderingFilter],
} as const satisfies Partial<Record<keyof FilterTarget, readonly FilterClass[]>>;

/**
 * Refuses an option that a view declares and none of the filters that it lists reads: a view that lists its filters leaves
 * the default ones out, and with them, by an oversight, the readers of its other options. A default filter or an heir of one
 * reads the options above. A filter of the application's own may read any option, at any time, if its class speaks of its
 * `target` at all.
 *
 * @throws ImproperlyConfigured which names the option and the default filters that read it
 */
export function checkOptionsAreRead(target: FilterTarget, classes: readonly FilterClass[]): void {
  if (classes.some(speaksOfTarget)) return;
  for (const [option, readers] of Object.entries(READERS)) {
    const isDeclared = Object.keys(target[option as keyof typeof READERS] ?? {}).length > 0;
    if (!isDeclared || classes.some((Class) => readers.some((Reader) => isOrExtends(Class, Reader)))) continue;
    const listed = classes.map(({ name }) => name).join(', ');
    throw new ImproperlyConfigured(
      `${target.name}: option "${option}" is read by none of the view's filters (${listed}); by default ` +
        `${readers.map(({ name }) => name).join(' and ')} would. To add to the default filters: ` +
        `filters: [...DEFAULT_FILTERS, ${listed}]`,
    );
  }
}

/** Looks at the classes of the application alone, from a filter up to the first that is of this library. */
function speaksOfTarget(Class: FilterClass): boolean {
  const isOwn = Class !== (Filter as unknown) && !DEFAULT_FILTERS.includes(Class);
  return isOwn && (/\btarget\b/.test(String(Class)) || speaksOfTarget(Object.getPrototypeOf(Class) as FilterClass));
}

function isOrExtends(Class: FilterClass, Base: FilterClass): boolean {
  return Class === Base || Class.prototype instanceof Base;
}
