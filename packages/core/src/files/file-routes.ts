import type { EntityProperty } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';

/** The route of a view that sends the files of one property. */
export interface FileRoute {
  /** The property whose value names a record in the route's path. */
  readonly key: string;
  /** Makes the path of the file of a record, of the value of its key. */
  readonly pathOf: (key: unknown) => string;
}

const routes = new WeakMap<EntityProperty, FileRoute>();

/** Has the links of a property's files lead to a route from now on. */
export function declareFileRoute(property: EntityProperty, route: FileRoute): void {
  routes.set(property, route);
}

/** Tells if a view sends a property's files. */
export function hasFileRoute(property: EntityProperty): boolean {
  return routes.has(property);
}

/**
 * Finds the route of a property's files.
 *
 * @throws ImproperlyConfigured if no view that sends them is registered yet
 */
export function fileRouteOf(className: string, property: EntityProperty): FileRoute {
  const route = routes.get(property);
  if (route !== undefined) return route;
  throw new ImproperlyConfigured(
    `${className}.${property.name} is a file, and no view sends it: a view whose write shape has it as file() must be ` +
      'registered before whatever shows it',
  );
}
