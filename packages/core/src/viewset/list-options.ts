import { Filter } from '../filters/filter.ts';
import { wrongOption } from '../options.ts';
import { Paginator } from '../pagination/paginator.ts';

/** The options about lists that a view and the plugin have in common, as plain JavaScript may give them. */
interface ListOptions {
  readonly filters?: unknown;
  readonly pagination?: unknown;
  readonly ignoreUnknownParameters?: unknown;
}

/** @throws ImproperlyConfigured which names the option that is of the wrong kind */
export function checkListOptions(owner: string, options: ListOptions): void {
  const { filters = [], pagination = null, ignoreUnknownParameters: ignored = false } = options;
  if (!Array.isArray(filters)) throw wrongOption(owner, 'filters', 'an array of classes that extend Filter', filters);
  const wrong = filters.findIndex((Class) => !extendsClass(Class, Filter));
  if (wrong !== -1) throw wrongOption(owner, `filters[${wrong}]`, 'a class that extends Filter', filters[wrong]);
  if (pagination !== null && !extendsClass(pagination, Paginator)) {
    throw wrongOption(owner, 'pagination', 'a class that extends Paginator, or null for none', pagination);
  }
  const areNames = Array.isArray(ignored) && ignored.every((name) => typeof name === 'string');
  if (typeof ignored !== 'boolean' && !areNames) {
    throw wrongOption(owner, 'ignoreUnknownParameters', 'a boolean or an array of strings', ignored);
  }
}

function extendsClass(value: unknown, Base: abstract new (...args: never[]) => object): boolean {
  return typeof value === 'function' && value.prototype instanceof Base;
}
