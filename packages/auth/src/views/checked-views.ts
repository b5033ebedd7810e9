import type { MikroORM } from '@mikro-orm/core';
import type { OperationPlan } from '@viewset/core';
import type { FastifyInstance } from 'fastify';

/** The key of the method with which a view checks the application: the options of `auth`, and the entities. */
export const CHECK_AUTH: unique symbol = Symbol('viewset.check-auth');

/** A view that needs options of `auth`, or constraints of its entities. */
export interface AuthCheckingView {
  /** @throws ImproperlyConfigured if `auth` or an entity lacks something that the view needs */
  [CHECK_AUTH](auth: object, orm: Pick<MikroORM, 'getMetadata'>): void;
}

/** Checks the views that are registered after the plugin, so that one whose option is missing fails at start. */
export function checkViews(app: FastifyInstance): void {
  const plans = new Set<OperationPlan>();
  app.addHook('onRoute', ({ config }) => {
    if (config?.viewset !== undefined) plans.add(config.viewset);
  });
  app.addHook('onReady', async () => {
    const planned = app.viewset.plannedRoutes.filter(({ plan }) => plans.has(plan));
    for (const view of new Set<object>(planned.map(({ view: each }) => each))) {
      (view as Partial<AuthCheckingView>)[CHECK_AUTH]?.(app.auth, app.viewset.orm);
    }
  });
}
