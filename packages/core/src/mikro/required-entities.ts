import type { EntityClass, MikroORM } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors/errors.ts';

/**
 * Fails at startup if the ORM lacks an entity. Call it in a plugin with entities that the application must add to its
 * ORM.
 *
 * @param owner the plugin, the subject of the sentence
 * @param source the package of the entities
 * @throws ImproperlyConfigured that names the first missing entity
 * @example
 * requireEntities(app.viewset.orm, 'audit', '@example/audit', [Product]);
 * // ImproperlyConfigured: audit: the ORM needs the entity Product of @example/audit among its "entities"
 */
export function requireEntities(
  orm: Pick<MikroORM, 'getMetadata'>,
  owner: string,
  source: string,
  entities: readonly EntityClass<object>[],
): void {
  const missing = entities.find((entity) => orm.getMetadata().find(entity) === undefined);
  if (missing === undefined) return;
  throw new ImproperlyConfigured(
    `${owner}: the ORM needs the entity ${missing.name} of ${source} among its "entities"`,
  );
}
