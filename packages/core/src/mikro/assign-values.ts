import { type EntityManager, type EntityProperty, ReferenceKind, ScalarReference } from '@mikro-orm/core';
import { metadataOf } from './entities.ts';

/**
 * Puts values into an entity as `em.assign()` does, and those that it keeps behind a reference (`p.text().lazy().ref()`) behind one:
 * `em.create()` does that too, but `em.assign()` puts the bare value there, of which the next flush makes an error.
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
    // A reference to null is one that is not loaded, unless it is told that it is.
    (entity as Record<string, unknown>)[name] = new ScalarReference(value, true);
  }
}

function isBehindReference(property: EntityProperty | undefined): boolean {
  return property?.ref === true && property.kind === ReferenceKind.SCALAR;
}
