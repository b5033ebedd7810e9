import { type EntityMetadata, type EntityName, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';
import { declaredMetadata } from './declared-metadata.ts';

/** Finds the entity or embeddable that a property leads to, discovered or only declared; undefined if it leads to none. */
export function targetOf(property: EntityProperty): EntityMetadata | undefined {
  const declared = property as { readonly entity?: () => unknown };
  if (property.targetMeta !== undefined || declared.entity === undefined) return property.targetMeta;
  const target = declared.entity();
  if (!Array.isArray(target)) return declaredMetadata(target as EntityName);
  throw new ImproperlyConfigured(`"${property.name}" may lead to several entities, so a shape cannot have it`);
}

/** Returns the property whose values a property holds: of a to-one relation, the key that it refers to; else itself. */
export function valueProperty(property: EntityProperty): EntityProperty {
  return isReference(property) ? valueProperty(referredKey(property)) : property;
}

/** Returns the property at the other end of a to-one relation that its foreign key repeats. */
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
 * Returns the property of an entity whose value ties the records of a relation to many to it.
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
 * True of the inverse side that MikroORM itself adds to a relation of many to many which declares none: it neither fills nor writes
 * that side.
 */
export function isAddedInverse({ mappedBy, persist, hydrate }: EntityProperty): boolean {
  return mappedBy !== undefined && persist === false && hydrate === false;
}

/** True of a relation that may lead to several entities, from either end. */
export function isPolymorphic(relation: EntityProperty): boolean {
  if (leadsToSeveral(relation)) return true;
  const inverse: EntityProperty | undefined = targetOf(relation)?.properties[relation.mappedBy as never];
  return inverse !== undefined && leadsToSeveral(inverse);
}

function leadsToSeveral({ polymorphic, discriminatorColumn }: EntityProperty): boolean {
  return polymorphic === true || discriminatorColumn !== undefined;
}

/** True of an entity whose columns stand in tables of its own and of those that it extends. */
export function isTablePerType({ root }: EntityMetadata): boolean {
  // An entity that is only declared knows no other one.
  return (root as EntityMetadata | undefined)?.inheritanceType === 'tpt';
}

/** Returns the primary key of an entity; undefined if it is not one property. */
export function onlyPrimaryKey({ properties }: EntityMetadata): EntityProperty | undefined {
  const [key, ...others] = Object.entries<EntityProperty>(properties).filter(([, { primary }]) => primary === true);
  if (key === undefined || others.length > 0) return undefined;
  // A property that is only declared has no name of its own yet.
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

/** True of relations, to one or to many. */
export function isReference(property: EntityProperty): boolean {
  return isToOne(property) || isToMany(property);
}

/** True of a relation to one record. */
export function isToOne({ kind }: EntityProperty): boolean {
  return kind === ReferenceKind.MANY_TO_ONE || kind === ReferenceKind.ONE_TO_ONE;
}

/** True of a relation to many records. */
export function isToMany({ kind }: EntityProperty): boolean {
  return kind === ReferenceKind.ONE_TO_MANY || kind === ReferenceKind.MANY_TO_MANY;
}

/** True of a relation to many that is a list of keys in a column of the entity's own, as MongoDB keeps a many to many. */
export function holdsKeys({ kind, owner, pivotEntity }: EntityProperty): boolean {
  return kind === ReferenceKind.MANY_TO_MANY && owner && pivotEntity === undefined;
}

/** True of an embeddable, whether its properties are columns or one column holds it, or a list of them, as JSON. */
export function isEmbeddable({ kind }: EntityProperty): boolean {
  return kind === ReferenceKind.EMBEDDED;
}

/** Lists the properties of an embeddable that are stored; not the columns that those inside it have. */
export function partsOf({ properties }: EntityMetadata): EntityProperty[] {
  return Object.values<EntityProperty>(properties).filter(
    ({ embedded, persist }) => embedded === undefined && persist !== false,
  );
}

/** True of an embeddable whose properties are columns of the entity that it stands in. */
export function isInlineEmbeddable(property: EntityProperty): boolean {
  return isEmbeddable(property) && property.object !== true && property.array !== true;
}

/** True of a to-one relation whose foreign key is on this side. */
export function ownsColumn({ kind, owner, mappedBy }: EntityProperty): boolean {
  const isOwner = (owner as boolean | undefined) ?? mappedBy === undefined;
  return kind === ReferenceKind.MANY_TO_ONE || (kind === ReferenceKind.ONE_TO_ONE && isOwner);
}
