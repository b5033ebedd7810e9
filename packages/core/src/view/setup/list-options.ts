import { Filter } from '../../filters/filter.ts';
import { isListOf, type OptionRule } from '../../errors/options.ts';
import { Paginator } from '../../pagination/paginator.ts';

/** The rules for the list options that views and the plugin share. */
export const LIST_RULES: Readonly<Record<'filters' | 'pagination' | 'ignoreUnknownParameters', OptionRule>> = {
  filters: [
    'an array of classes that extend Filter',
    Array.isArray,
    ['a class that extends Filter', (value) => extendsClass(value, Filter)],
  ],
  pagination: [
    'a class that extends Paginator, or null for none',
    (value) => value === null || extendsClass(value, Paginator),
  ],
  ignoreUnknownParameters: [
    'a boolean or an array of strings',
    (value) => typeof value === 'boolean' || isListOf(value, (name) => typeof name === 'string'),
  ],
};

function extendsClass(value: unknown, Base: abstract new (...args: never[]) => object): boolean {
  return typeof value === 'function' && value.prototype instanceof Base;
}
