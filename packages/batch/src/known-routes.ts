import type { OperationPlan } from '@viewset/core';

interface KnownRoute {
  readonly method: string;
  /** Undefined matches any text. */
  readonly segments: readonly (string | undefined)[];
  readonly batchable: boolean;
}

/**
 * The routes of views by path, and if each may be part of a batch. It rejects bad paths before anything runs; the
 * router still has the final say.
 */
export class KnownRoutes {
  /** The routes of each application, by its operation plans. */
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
   * Tells if a path leads to a view's route, and if a batch may contain it.
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
