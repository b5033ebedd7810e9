import type { EntityName } from '@mikro-orm/core';
import type { FastifyInstance } from 'fastify';
import type { OperationPlan } from '../routes/operation-plan.ts';
import { CHECK_ENTITY } from '../permissions/permission.ts';

/**
 * Declares the entity whose `id` is the `id` of `request.user`. The application then fails at start if the relation of an
 * `IsOwner` refers to another entity. It checks the views that are registered later. `auth` of `@viewset/auth` calls it.
 *
 * @example
 * await app.register(viewset, { orm });
 * checkOwners(app, Account);   // before the routers
 */
export function checkOwners(app: FastifyInstance, users: EntityName<object>): void {
  const plans = new Set<OperationPlan>();
  app.addHook('onRoute', ({ config }) => {
    if (config?.viewset !== undefined) plans.add(config.viewset);
  });
  app.addHook('onReady', async () => {
    const metadata = app.viewset.orm.getMetadata();
    const meta = metadata.get(users as never);
    for (const { permissions, view } of plans) {
      if (view.entity === undefined) continue;
      const ofView = metadata.getByClassName(view.entity);
      for (const permission of permissions) permission[CHECK_ENTITY](ofView, view.name, meta);
    }
  });
}
