import type { OperationPlan } from '@viewset/core';

interface KnownRoute {
  readonly method: string;
  /** Undefined: any text. */
  readonly segments: readonly (string | undefined)[];
  readonly batchable: boolean;
}

/**
 * The routes of views by their paths, and which of them may be parts of a batch. It refuses paths before anything of a batch has run; the router
 * decides in the end.
 */
export class KnownRoutes {
  /** Those of each application, by its plans. */
  static readonly #known = new WeakMap<readonly OperationPlan[], KnownRoutes>();
  readonly #routes: readonly KnownRoute[];

  private constructor(plans: readonly OperationPlan[]) {
    this.#routes = plans.map(({ method, path, batchable }) => ({
      method,
      segments: path.split('/').map((segment) => (segment.startsWith(':') ? undefined : segment)),
      batchable,
    }));
  }

  /** Returns the routes of an application that has started. */
  static of(plans: readonly OperationPlan[]): KnownRoutes {
    const known = KnownRoutes.#known.get(plans) ?? new KnownRoutes(plans);
    KnownRoutes.#known.set(plans, known);
    return known;
  }

  /**
   * Tells if a path leads to a route of a view, and if that may be part of a batch.
   *
   * @param path the whole path, without its query
   */
  find(method: string, path: string): 'batchable' | 'excluded' | undefined {
    const segments = path.split('/');
    const found = this.#routes.filter(
      (route) =>
        route.method === method &&
        route.segments.length === segments.length &&
        route.segments.every((segment, index) => segment === undefined || segment === segments[index]),
    );
    if (found.length === 0) return undefined;
    return found.some(({ batchable }) => batchable) ? 'batchable' : 'excluded';
  }
}
