import type { MikroORM } from '@mikro-orm/core';
import type { OperationPlan, ViewsetInstance } from '@viewset/core';
import type { FastifyInstance, RouteOptions } from 'fastify';

/** An application's routes and instances, collected while it registers them. */
export interface CheckedApplication {
  readonly routes: readonly RouteOptions[];
  /** The application's `viewset` plugins, one per ORM. */
  readonly instances: ReadonlySet<ViewsetInstance>;
}

/** Collects routes and instances from now on. The result grows as the application registers them. */
export function watchApplication(app: FastifyInstance): CheckedApplication {
  const routes: RouteOptions[] = [];
  const instances = new Set<ViewsetInstance>();
  app.addHook('onRoute', function (this: FastifyInstance, route) {
    routes.push(route);
    if (this.hasDecorator('viewset')) instances.add(this.viewset);
  });
  return { routes, instances };
}

/** A plan with the ORM of its view. */
export interface OperationOfOrm {
  readonly plan: OperationPlan;
  readonly orm: MikroORM;
}

/** Lists the plans of all views. */
export function operationsOf({ instances }: CheckedApplication): OperationOfOrm[] {
  return [...instances].flatMap(({ orm, operations }) => operations.map((plan) => ({ plan, orm })));
}
