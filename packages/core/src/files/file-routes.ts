import type { EntityProperty } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors/errors.ts';

/** The route of a view that serves the files of one property. */
export interface FileRoute {
  /**
   * The fields of a record whose values are the parameters of the route's path, from left to right:
   * `ticket.project.key`, `ticket`, `id`.
   */
  readonly keys: readonly string[];
  /** Makes the path of a record's file from these values. */
  readonly pathOf: (keys: readonly unknown[]) => string;
}

const routes = new WeakMap<EntityProperty, FileRoute>();

/** Registers which route serves the files of a property, so that links can be built. */
export function declareFileRoute(property: EntityProperty, route: FileRoute): void {
  routes.set(property, route);
}

/** Reports whether a view serves the files of a property. */
export function hasFileRoute(property: EntityProperty): boolean {
  return routes.has(property);
}

/**
 * Finds the route of a property's files.
 *
 * @throws ImproperlyConfigured if no view serves them
 */
export function fileRouteOf(className: string, property: EntityProperty): FileRoute {
  const route = routes.get(property);
  if (route !== undefined) return route;
  throw new ImproperlyConfigured(
    `${className}.${property.name} is a file, and no view sends it: the router, or one that is mounted before, must have a view that offers ` +
      'retrieve, has it in its read shape, and as file() in its write shape, under a path whose parameters each record tells: those of ' +
      'parents that every record has',
  );
}
