import { type EntityMetadata, type EntityName, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { declaredMetadata } from './declared-metadata.ts';

/** Finds the entity or embeddable of a property, before or after discovery. Undefined if it has none. */
export function targetOf(property: EntityProperty): EntityMetadata | undefined {
  const declared = property as { readonly entity?: () => unknown };
  if (property.targetMeta !== undefined || declared.entity === undefined) return property.targetMeta;
  const target = declared.entity();
  if (!Array.isArray(target)) return declaredMetadata(target as EntityName);
  throw new ImproperlyConfigured(`"${property.name}" may lead to several entities, so a shape cannot have it`);
}

/**
 * Returns the property that determines the values of a property: for a to-one relation, the key that it refers to;
 * otherwise the property itself.
 */
export function valueProperty(property: EntityProperty): EntityProperty {
  return isReference(property) ? valueProperty(referredKey(property)) : property;
}

/** Returns the property that the foreign key of a to-one relation refers to. */
export function referredKey(property: EntityProperty): EntityProperty {
  const target = targetOf(property) as EntityMetadata;
  const key =
    property.targetKey === undefined
      ? !isPolymorphic(property) && onlyPrimaryKey(target)
      : (target.properties[property.targetKey as never] as EntityProperty | undefined);
  if (key) return key;
  throw new ImproperlyConfigured(
    `"${property.name}" refers to ${target.className} by ${isPolymorphic(property) ? 'a polymorphic' : 'a composite'} key, ` +
      'which has no single value; name a field of the related entity instead',
  );
}

/**
 * Returns the property of the owner that the records of a to-many relation refer to.
 *
 * @throws ImproperlyConfigured for a polymorphic relation, and if either end has a composite key
 */
export function tyingKey(owner: EntityMetadata, relation: EntityProperty): EntityProperty {
  const target = targetOf(relation) as EntityMetadata;
  const mapped = target.properties[relation.mappedBy as never] as EntityProperty | undefined;
  if (isPolymorphic(relation)) throw new ImproperlyConfigured(`${owner.className}.${relation.name} is polymorphic`);
  const key = mapped !== undefined && ownsColumn(mapped) ? referredKey(mapped) : onlyPrimaryKey(owner);
  const composite = key === undefined ? owner : onlyPrimaryKey(target) === undefined ? target : undefined;
  if (key !== undefined && composite === undefined) return key;
  throw new ImproperlyConfigured(
    `${owner.className}.${relation.name} cannot be shown: the primary key of ${composite?.className ?? ''} is not one column`,
  );
}

/**
 * True for an inverse side that MikroORM adds to a many-to-many relation without one. MikroORM neither fills nor writes
 * it.
 */
export function isAddedInverse({ mappedBy, persist, hydrate }: EntityProperty): boolean {
  return mappedBy !== undefined && persist === false && hydrate === false;
}

/** True for a relation that may lead to several entities, from either end. */
export function isPolymorphic(relation: EntityProperty): boolean {
  if (leadsToSeveral(relation)) return true;
  const inverse: EntityProperty | undefined = targetOf(relation)?.properties[relation.mappedBy as never];
  return inverse !== undefined && leadsToSeveral(inverse);
}

function leadsToSeveral({ polymorphic, discriminatorColumn }: EntityProperty): boolean {
  return polymorphic === true || discriminatorColumn !== undefined;
}

/** True for an entity whose columns are in its own table and in the tables of the entities that it extends. */
export function isTablePerType({ root }: EntityMetadata): boolean {
  // Before discovery, an entity does not know other entities.
  return (root as EntityMetadata | undefined)?.inheritanceType === 'tpt';
}

/** True for the property that tells the class of a record, in a table that several classes share. */
export function isDiscriminator({ root }: EntityMetadata, name: string): boolean {
  // Before discovery, an entity may not know the class that it extends.
  return (root as EntityMetadata | undefined)?.discriminatorColumn === name;
}

/** Says why nobody may write a discriminator. */
export function discriminatorMessage({ className }: EntityMetadata, name: string): string {
  return (
    `${className}.${name} tells the class of a record, so nothing can write it: a view of ${className} creates records of ` +
    'this class; make a view of each class'
  );
}

/** True for a class without records of its own, in a table that it shares with the classes that extend it. */
export function isAbstract({ root, discriminatorValue }: EntityMetadata): boolean {
  return root.inheritanceType === 'sti' && discriminatorValue === undefined;
}

/** Returns the primary key of an entity; undefined unless it is a single property. */
export function onlyPrimaryKey({ properties }: EntityMetadata): EntityProperty | undefined {
  const [key, ...others] = Object.entries<EntityProperty>(properties).filter(([, { primary }]) => primary === true);
  if (key === undefined || others.length > 0) return undefined;
  // Before discovery, a property has no `name`.
  const [name, property] = key;
  return property.name === undefined ? { ...property, name } : property;
}

/** True if no two records have the same value of a property. */
export function isUnique(meta: EntityMetadata, { name, primary, unique = false }: EntityProperty): boolean {
  const alone = [...(meta.uniques ?? [])].some(
    ({ properties, where, expression, disabled = false }) =>
      [properties].flat().join() === name && where === undefined && expression === undefined && !disabled,
  );
  return alone || unique !== false || (primary === true && onlyPrimaryKey(meta) !== undefined);
}

/** True for relations, to one or to many. */
export function isReference(property: EntityProperty): boolean {
  return isToOne(property) || isToMany(property);
}

/** True for a relation to one record. */
export function isToOne({ kind }: EntityProperty): boolean {
  return kind === ReferenceKind.MANY_TO_ONE || kind === ReferenceKind.ONE_TO_ONE;
}

/** True for a relation to many records. */
export function isToMany({ kind }: EntityProperty): boolean {
  return kind === ReferenceKind.ONE_TO_MANY || kind === ReferenceKind.MANY_TO_MANY;
}

/** True for a to-many relation whose keys are a list in a column of the entity, as in MongoDB's many-to-many. */
export function holdsKeys({ kind, owner, pivotEntity }: EntityProperty): boolean {
  return kind === ReferenceKind.MANY_TO_MANY && owner && pivotEntity === undefined;
}

/** True for an embeddable, or a list of them, inline or in a JSON column. */
export function isEmbeddable({ kind }: EntityProperty): boolean {
  return kind === ReferenceKind.EMBEDDED;
}

/** Lists the stored properties of an embeddable, without the columns of nested embeddables. */
export function partsOf({ properties }: EntityMetadata): EntityProperty[] {
  return Object.values<EntityProperty>(properties).filter(
    ({ embedded, persist }) => embedded === undefined && persist !== false,
  );
}

/** True for an embeddable whose properties are columns of its entity. */
export function isInlineEmbeddable(property: EntityProperty): boolean {
  return isEmbeddable(property) && property.object !== true && property.array !== true;
}

/** True for a to-one relation whose foreign key is on this side. */
export function ownsColumn({ kind, owner, mappedBy }: EntityProperty): boolean {
  const isOwner = (owner as boolean | undefined) ?? mappedBy === undefined;
  return kind === ReferenceKind.MANY_TO_ONE || (kind === ReferenceKind.ONE_TO_ONE && isOwner);
}
