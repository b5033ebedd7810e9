import type { EntityName, FilterQuery, RequiredEntityData } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';

/**
 * Makes a record that ties two others, or removes it if the request is a DELETE. Twice is once: the action has locked the record of
 * its path.
 */
export async function tie<Tie extends object>(
  { em, method }: FastifyRequest,
  entity: EntityName<Tie>,
  ends: FilterQuery<NoInfer<Tie>>,
): Promise<void> {
  if (method === 'DELETE') {
    await em.nativeDelete(entity, ends);
  } else if ((await em.count(entity, ends)) === 0) {
    em.create(entity, ends as RequiredEntityData<Tie>);
    await em.flush();
  }
}
