import { ImproperlyConfigured } from '../errors.ts';

/**
 * Resolves a name that a view declares; a mistake names the view, the option and the entry that has it.
 *
 * @example
 * resolveOption('ProductViewSet', 'searchFields', 'nmae', () => fieldPath(meta, 'nmae', '__'));
 * // ImproperlyConfigured: ProductViewSet: searchFields "nmae": Product has no field "nmae"; did you mean "name"? …
 */
export function resolveOption<T>(view: string, option: string, entry: string, resolve: () => T): T {
  try {
    return resolve();
  } catch (error) {
    if (!(error instanceof ImproperlyConfigured)) throw error;
    throw new ImproperlyConfigured(`${view}: ${option} "${entry}": ${error.message}`, { cause: error });
  }
}
