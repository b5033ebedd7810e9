import { ChangeSetType, type EntityManager, ReferenceKind } from '@mikro-orm/core';

/** Reports whether the next flush of an entity manager changes relations, so that the database is not up to date. */
export function hasPendingRelations(em: EntityManager): boolean {
  const work = em.getUnitOfWork();
  work.computeChangeSets();
  if (work.getCollectionUpdates().length > 0) return true;
  return work.getChangeSets().some(({ type, payload, meta }) => {
    const isRelation = (name: string): boolean => {
      const kind = meta.properties[name as never]?.['kind'];
      return kind !== undefined && kind !== ReferenceKind.SCALAR && kind !== ReferenceKind.EMBEDDED;
    };
    return type !== ChangeSetType.UPDATE || Object.keys(payload).some(isRelation);
  });
}

/** @param who the reader of relations, which begins the sentence */
export function notFlushed(who: string): Error {
  return new Error(
    `${who} reads stored relations, but request.em has unflushed changes of relations; await request.em.flush() first`,
  );
}
