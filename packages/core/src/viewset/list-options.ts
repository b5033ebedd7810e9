import { Filter } from '../filters/filter.ts';
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

function extendsClass(value: unknown, Base: abstract new (...args: never[]) => object): boolean {
  return typeof value === 'function' && value.prototype instanceof Base;
}
