import { type EntityMetadata, type EntityName, type EntityProperty, EntitySchema } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';

/**
 * Finds what `defineEntity` was given, without an initialised ORM: builders carry type, length, precision, scale, nullable
 * and default.
 *
 * @throws ImproperlyConfigured for an entity that was not made by `defineEntity` or an `EntitySchema`
 */
export function declaredMetadata(entity: EntityName): EntityMetadata {
  const schema = EntitySchema.is(entity) ? entity : EntitySchema.REGISTRY.get(entity as never);
  if (schema === undefined) {
    const came = typeof entity === 'function' ? entity.name : typeof entity;
    throw new ImproperlyConfigured(
      `A shape needs an entity made by defineEntity() or new EntitySchema(), but ${came} came`,
    );
  }
  return (schema as EntitySchema).meta;
}

/** Finds the entity or embeddable that a property leads to, discovered or only declared; undefined if it leads to none. */
export function targetOf(property: EntityProperty): EntityMetadata | undefined {
  const declared = property as { readonly entity?: () => unknown };
  if (property.targetMeta !== undefined || declared.entity === undefined) return property.targetMeta;
  const target = declared.entity();
  if (!Array.isArray(target)) return declaredMetadata(target as EntityName);
  throw new ImproperlyConfigured(`"${property.name}" may lead to several entities: name it in no shape`);
}
