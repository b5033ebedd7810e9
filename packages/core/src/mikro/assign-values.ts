import { type EntityManager, type EntityProperty, ReferenceKind, ScalarReference } from '@mikro-orm/core';
import { metadataOf } from './entities.ts';

/**
 * Assigns values to an entity like `em.assign()`, and wraps values of lazy scalar references (`p.text().lazy().ref()`).
 * `em.create()` wraps them too, but `em.assign()` sets the bare value, and the next flush fails.
 */
export function assignValues(em: EntityManager, entity: object, values: object): void {
  const { properties } = metadataOf(em, entity);
  const all = Object.entries<unknown>(values as Readonly<Record<string, unknown>>);
  const referenced = all.filter(([name]) => isBehindReference(properties[name as never]));
  if (referenced.length === 0) {
    em.assign(entity, values);
    return;
  }
  em.assign(entity, Object.fromEntries(all.filter((pair) => !referenced.includes(pair))));
  for (const [name, value] of referenced) {
    // A reference to null counts as not loaded, unless it is marked as loaded.
    (entity as Record<string, unknown>)[name] = new ScalarReference(value, true);
  }
}

function isBehindReference(property: EntityProperty | undefined): boolean {
  return property?.ref === true && property.kind === ReferenceKind.SCALAR;
}
