import { Collection, type EntityManager, type EntityProperty } from '@mikro-orm/core';
import { metadataOf } from './entities.ts';

type Members = Readonly<Record<string, Collection<object>>>;

/** The keys of all members of a collection before it is loaded, including members that filters hide. */
const known = new WeakMap<Collection<object>, readonly unknown[]>();

/**
 * Remembers the members of collections before they are loaded, because loading drops hidden members. A MongoDB document
 * stores the keys of all members in one list, and a write replaces the whole list. In a pivot table, hidden members are
 * not affected.
 */
export function rememberMembers(em: EntityManager, entities: readonly object[], names: Iterable<string>): void {
  if (em.getPlatform().usesPivotTable()) return;
  for (const name of names) {
    for (const entity of entities) {
      const members = (entity as Members)[name];
      const isMany = Collection.isCollection(members);
      if (!isMany || !relationOf(em, entity, name).owner || members.isInitialized(true)) continue;
      // MikroORM cannot load the collection of a document that was stored without the list.
      if (!members.isInitialized()) members.hydrate([]);
      known.set(members, members.getIdentifiers());
    }
  }
}

/** Returns references to the members of a loaded collection that filters have hidden. */
export function hiddenMembers(em: EntityManager, entity: object, name: string): object[] {
  const members = (entity as Members)[name]!;
  const { owner, targetMeta } = relationOf(em, entity, name);
  if (em.getPlatform().usesPivotTable() || !owner || targetMeta === undefined) return [];
  const keys = known.get(members) ?? storedKeys(em, entity, name);
  const seen = new Set(members.getIdentifiers().map(String));
  const hidden = keys.filter((key) => !seen.has(String(key)));
  return hidden.map((key) => em.getReference(targetMeta.class, key as never) as object);
}

function relationOf(em: EntityManager, entity: object, name: string): EntityProperty {
  return metadataOf(em, entity).properties[name as never] as EntityProperty;
}

/** Returns the members of a record that MikroORM itself loaded, for example a child record. */
function storedKeys(em: EntityManager, entity: object, name: string): readonly unknown[] {
  const stored = em.getUnitOfWork().getOriginalEntityData(entity) as Readonly<Record<string, unknown>> | undefined;
  const keys = stored?.[name];
  return Array.isArray(keys) ? keys : [];
}
