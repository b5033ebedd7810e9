import {
  type EntityMetadata,
  type EntityName,
  type EntityProperty,
  EntitySchema,
  MetadataStorage,
} from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors/errors.ts';

/**
 * Returns the metadata that an entity was declared with, without an initialised ORM: type, length, precision, scale,
 * nullable and default of each property, including inherited properties.
 *
 * @throws ImproperlyConfigured for an entity that was declared without `defineEntity`, an `EntitySchema` or decorators
 */
export function declaredMetadata(entity: EntityName): EntityMetadata {
  const declared = declarationOf(entity);
  if (declared === undefined) {
    const received = typeof entity === 'function' ? entity.name : typeof entity;
    throw new ImproperlyConfigured(
      `A shape needs an entity made by defineEntity(), new EntitySchema() or the decorators of MikroORM, got ${received}`,
    );
  }
  return withInherited(entity, declared);
}

const schemas = new WeakMap<object, EntitySchema>();

/** Remembers the schemas among the entities of an ORM, so that the classes that MikroORM makes for them lead to them. */
export function rememberSchemas(entities: readonly unknown[]): void {
  for (const entity of entities) {
    if (EntitySchema.is(entity)) schemas.set(entity.meta.class, entity);
  }
}

/** Returns what an entity itself was declared with, without inherited properties. Undefined for an unknown entity. */
export function declarationOf(entity: EntityName): EntityMetadata | undefined {
  const schema = EntitySchema.is(entity)
    ? entity
    : (EntitySchema.REGISTRY.get(entity as never) ?? schemas.get(entity as object));
  if (schema !== undefined) return (schema as EntitySchema).meta;
  return typeof entity === 'function' && Object.hasOwn(entity, MetadataStorage.META_SYMBOL)
    ? decorated(entity as unknown as DecoratedClass)
    : undefined;
}

/** Adds inherited metadata, like MikroORM's discovery. */
function withInherited(entity: EntityName, metadata: EntityMetadata): EntityMetadata {
  for (const base of basesOf(entity, metadata)) {
    const declared = declarationOf(base);
    // The class that `defineEntity` makes, and the class that extends it, share one declaration.
    if (declared === undefined || declared === metadata) continue;
    const { properties, uniques } = withInherited(base, declared);
    return Object.create(metadata, {
      properties: { value: { ...properties, ...metadata.properties } },
      uniques: { value: [...uniques, ...metadata.uniques] },
    }) as EntityMetadata;
  }
  return metadata;
}

/** Lists the entities that an entity may extend, the nearest first. */
function* basesOf(entity: EntityName, { extends: named }: EntityMetadata): Generator<EntityName> {
  if (named) yield named;
  let base: unknown = entity;
  while (typeof (base = Object.getPrototypeOf(base)) === 'function') yield base as EntityName;
}

/** A class with the metadata of its decorators. */
interface DecoratedClass {
  readonly prototype: object;
  readonly [MetadataStorage.META_SYMBOL]: EntityMetadata;
}

/**
 * Converts a decorated class to the form of `defineEntity`: names instead of functions, and the types that TypeScript
 * emitted.
 */
function decorated({ prototype, [MetadataStorage.META_SYMBOL]: meta }: DecoratedClass): EntityMetadata {
  const properties: Record<string, object> = {};
  for (const [name, property] of Object.entries<DecoratedProperty>(meta.properties)) {
    const type = property.type ?? (property.entity === undefined ? reflectedType(prototype, name) : undefined);
    properties[name] = { ...property, ...(type !== undefined && { type }), ...nameOfInverse(property) };
  }
  return Object.create(meta, { properties: { value: properties } }) as EntityMetadata;
}

type DecoratedProperty = Omit<EntityProperty, 'mappedBy' | 'type' | 'entity'> & {
  readonly type?: unknown;
  readonly entity?: unknown;
  readonly mappedBy?: unknown;
};

/** The TypeScript types from `emitDecoratorMetadata` that determine a column. */
const TYPE_NAMES: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [String, 'string'],
  [Number, 'number'],
  [Boolean, 'boolean'],
  [BigInt, 'bigint'],
  [Date, 'Date'],
]);

function reflectedType(prototype: object, name: string): string | undefined {
  const { getMetadata } = Reflect as { getMetadata?: (key: string, target: object, name: string) => unknown };
  return TYPE_NAMES.get(getMetadata?.('design:type', prototype, name));
}

/** `mappedBy: (book) => book.author` names the property `author`. */
function nameOfInverse({ mappedBy }: DecoratedProperty): { readonly mappedBy?: string } {
  if (typeof mappedBy !== 'function') return {};
  const names = new Proxy({}, { get: (_, name) => name });
  return { mappedBy: String((mappedBy as (entity: object) => unknown)(names)) };
}
