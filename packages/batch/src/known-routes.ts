import type { OperationPlan } from '@viewset/core';

interface KnownRoute {
  readonly method: string;
  /** Undefined: any text. */
  readonly segments: readonly (string | undefined)[];
}

/**
 * The routes that may be parts of a batch, by their paths. It refuses paths before anything of a batch has run; the router decides in the end.
 */
export class KnownRoutes {
  /** Those of each application, by its plans. */
  static readonly #known = new WeakMap<readonly OperationPlan[], KnownRoutes>();
  readonly #routes: readonly KnownRoute[];

  private constructor(plans: readonly OperationPlan[]) {
    this.#routes = plans
      .filter(({ batchable }) => batchable)
      .map(({ method, path }) => ({
        method,
        segments: path.split('/').map((segment) => (segment.startsWith(':') ? undefined : segment)),
      }));
  }

  /** Returns the routes of an application that has started. */
  static of(plans: readonly OperationPlan[]): KnownRoutes {
    const known = KnownRoutes.#known.get(plans) ?? new KnownRoutes(plans);
    KnownRoutes.#known.set(plans, known);
    return known;
  }

  /** @param path the whole path, without its query */
  has(method: string, path: string): boolean {
    const segments = path.split('/');
    return this.#routes.some(
      (route) =>
        route.method === method &&
        route.segments.length === segments.length &&
        route.segments.every((segment, index) => segment === undefined || segment === segments[index]),
    );
  }
}
