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
  readonly #routes: readonly KnownRoute[];

  constructor(plans: readonly OperationPlan[]) {
    this.#routes = plans
      .filter(({ batchable }) => batchable)
      .map(({ method, path }) => ({
        method,
        segments: path.split('/').map((segment) => (segment.startsWith(':') ? undefined : segment)),
      }));
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
