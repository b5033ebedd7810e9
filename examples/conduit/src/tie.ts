import type { EntityClass, RequiredEntityData, FilterQuery } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';

/** Makes a record that ties two others, or removes it if the request is a DELETE. Twice is once: the action has locked the record of its path. */
export async function tie<Tie extends object>(
  { em, method }: FastifyRequest,
  Class: EntityClass<Tie>,
  ends: FilterQuery<Tie> & RequiredEntityData<Tie>,
): Promise<void> {
  if (method === 'DELETE') {
    await em.nativeDelete(Class, ends);
  } else if ((await em.count(Class, ends)) === 0) {
    em.create(Class, ends);
    await em.flush();
  }
}
