import { ImproperlyConfigured } from '../errors.ts';
import { Filter, type FilterClass, type FilterTarget } from '../filters/filter.ts';
import { wrongOption } from '../options.ts';
import { Paginator } from '../pagination/paginator.ts';

/** @throws ImproperlyConfigured for anything but a list of classes that extend Filter */
export function checkFilters(owner: string, filters: unknown): void {
  if (filters === undefined) return;
  if (!Array.isArray(filters)) throw wrongOption(owner, 'filters', 'an array of classes that extend Filter', filters);
  const wrong = filters.findIndex((Class) => !extendsClass(Class, Filter));
  if (wrong !== -1) throw wrongOption(owner, `filters[${wrong}]`, 'a class that extends Filter', filters[wrong]);
}

/** @throws ImproperlyConfigured for anything but a class that extends Paginator, and null */
export function checkPagination(owner: string, pagination: unknown): void {
  if (pagination === undefined || pagination === null || extendsClass(pagination, Paginator)) return;
  throw wrongOption(owner, 'pagination', 'a class that extends Paginator, or null for none', pagination);
}

/** @throws ImproperlyConfigured for anything but a boolean or a list of names */
export function checkIgnoredParameters(owner: string, ignored: unknown): void {
  if (ignored === undefined || typeof ignored === 'boolean') return;
  if (Array.isArray(ignored) && ignored.every((name) => typeof name === 'string')) return;
  throw wrongOption(owner, 'ignoreUnknownParameters', 'a boolean or an array of strings', ignored);
}

/** What a view declares for its filters, and which filter of the default ones reads it. */
const READERS = {
  searchFields: 'SearchFilter',
  filterFields: 'QueryParameterFilter and JsonLogicFilter',
  jsonLogicFields: 'JsonLogicFilter',
  orderingFields: 'OrderingFilter',
} as const satisfies Partial<Record<keyof FilterTarget, string>>;

type FilterOption = keyof typeof READERS;
const FILTER_OPTIONS = Object.keys(READERS) as FilterOption[];

/**
 * Makes a view's filters. A view that lists its filters leaves the default ones out, and with them, by an oversight,
 * the readers of its other options: one that is declared and that no filter has read is refused.
 */
export function makeListedFilters(target: FilterTarget, classes: readonly FilterClass[]): Filter[] {
  const read = new Set<string>();
  const watched = watchReads(target, read);
  const filters = classes.map((Class) => new Class(watched));
  for (const filter of filters) void filter.parameters;
  const unread = FILTER_OPTIONS.find((option) => !read.has(option) && Object.keys(target[option] ?? {}).length > 0);
  if (unread === undefined) return filters;
  const listed = classes.map(({ name }) => name).join(', ');
  throw new ImproperlyConfigured(
    `${target.name}: option "${unread}" is read by none of the view's filters (${listed}); by default ${READERS[unread]} ` +
      `would. To add to the default filters: filters: [...DEFAULT_FILTERS, ${listed}]`,
  );
}

function watchReads(target: FilterTarget, read: Set<string>): FilterTarget {
  const watched = { ...target };
  for (const option of FILTER_OPTIONS) {
    const get = (): unknown => {
      read.add(option);
      return target[option];
    };
    if (option in target) Object.defineProperty(watched, option, { get, enumerable: true });
  }
  return watched;
}

function extendsClass(value: unknown, Base: abstract new (...args: never[]) => object): boolean {
  return typeof value === 'function' && value.prototype instanceof Base;
}
