import { ImproperlyConfigured } from '../errors/errors.ts';
import { nearest } from '../errors/nearest.ts';
import { templateFiller } from '../http/path-template.ts';

/** The names of routes and their paths. Each name has one path. */
export class RouteNames {
  readonly #paths = new Map<string, string>();

  /** Throws ImproperlyConfigured if the name already has another path. */
  add(name: string, path: string): void {
    const taken = this.#paths.get(name);
    if (taken !== undefined && taken !== path) {
      throw new ImproperlyConfigured(
        `Route name "${name}" already belongs to ${taken}, so it cannot belong to ${path} too`,
      );
    }
    this.#paths.set(name, path);
  }

  /**
   * Returns the path of a name. Throws ImproperlyConfigured for an unknown name, and for parameters that do not fit it.
   *
   * @example
   * app.viewset.routeNames.reverse('products-detail', { pk: 7 });   // '/api/products/7'
   */
  reverse(name: string, parameters: Readonly<Record<string, string | number | bigint>> = {}): string {
    const path = this.#paths.get(name);
    if (path === undefined) throw this.#unknown(name);
    const unused = new Set(Object.keys(parameters));
    const filled = templateFiller(path)((parameter) => {
      const value = parameters[parameter];
      if (value === undefined) throw new ImproperlyConfigured(`Route "${name}" needs the parameter "${parameter}"`);
      unused.delete(parameter);
      return value;
    });
    if (unused.size > 0) {
      throw new ImproperlyConfigured(`Route "${name}" (${path}) takes no parameter "${[...unused].join('", "')}"`);
    }
    return filled;
  }

  #unknown(name: string): ImproperlyConfigured {
    if (this.#paths.size === 0) {
      return new ImproperlyConfigured(
        `No route is named "${name}": names exist once the router is mounted (await app.register(router.plugin))`,
      );
    }
    const meant = nearest(name, this.#paths.keys());
    const hint = meant === undefined ? '.' : `; did you mean "${meant}"?`;
    return new ImproperlyConfigured(`No route is named "${name}"${hint} Names: ${[...this.#paths.keys()].join(', ')}`);
  }
}
