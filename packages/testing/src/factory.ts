import {
  type EntityData,
  type EntityMetadata,
  type EntityName,
  type EntityProperty,
  ReferenceKind,
} from '@mikro-orm/core';
import { tenantProperty } from '@viewset/core';
import type { Factories } from './factories.ts';
import { uniqueValue } from './unique-value.ts';

/** Values that replace generated ones, or a function that returns them for a record's number, from 1. */
export type FactoryOverrides<Entity> = Partial<EntityData<Entity>> | ((number: number) => Partial<EntityData<Entity>>);

/**
 * Makes valid records of an entity. Each required column gets a value of its type and length, different for each
 * record. Each required relation gets a new record. Columns that are nullable or have a default are left out. Use a
 * test application's `factory` to get one.
 *
 * @example
 * const shop = await testApp(async () => fastify(), { entities: [Author, Book] });
 * const books = shop.factory(Book, { title: 'Tea' });
 * await books.createMany(3);   // three books named Tea, each with an author of its own
 */
export class Factory<Entity extends object> {
  readonly #factories: Factories;
  readonly #entity: EntityName<Entity>;
  readonly #overrides: FactoryOverrides<Entity>;

  constructor(factories: Factories, entity: EntityName<Entity>, overrides: FactoryOverrides<Entity>) {
    this.#factories = factories;
    this.#entity = entity;
    this.#overrides = overrides;
  }

  /** Makes an entity without storing it. */
  make(overrides: FactoryOverrides<Entity> = {}): Entity {
    return this.#make(overrides, []);
  }

  /** Makes and stores a record and the records that it needs. */
  async create(overrides: FactoryOverrides<Entity> = {}): Promise<Entity> {
    const made = this.make(overrides);
    await this.#factories.em.persist(made).flush();
    return made;
  }

  /** Makes and stores several records. */
  async createMany(count: number, overrides: FactoryOverrides<Entity> = {}): Promise<Entity[]> {
    const made = Array.from({ length: count }, () => this.make(overrides));
    await this.#factories.em.persist(made).flush();
    return made;
  }

  #make(overrides: FactoryOverrides<Entity>, below: readonly EntityMetadata[]): Entity {
    const meta = this.#factories.orm.getMetadata().get(this.#entity) as EntityMetadata;
    if (below.includes(meta)) {
      const names = [...below, meta].map(({ className }) => className).join(' → ');
      throw new Error(`factory(${meta.className}): give a relation of ${names}, which needs itself`);
    }
    const number = this.#factories.next();
    const given = { ...valuesOf(this.#overrides, number), ...valuesOf(overrides, number) };
    const data: Record<string, unknown> = { ...given };
    for (const property of meta.props) {
      if (Object.hasOwn(given, property.name) || !needsValue(property)) continue;
      data[property.name] =
        property.name === this.#tenantProperty(meta)
          ? this.#factories.tenant
          : this.#valueOf(meta, property, number, [...below, meta]);
    }
    return this.#factories.em.create(this.#entity, data as never, { persist: false });
  }

  /** The property of the tenant, if all records belong to one. */
  #tenantProperty(meta: EntityMetadata): string | undefined {
    const { tenant, em } = this.#factories;
    return tenant === undefined ? undefined : tenantProperty(em, meta);
  }

  #valueOf(meta: EntityMetadata, property: EntityProperty, number: number, below: readonly EntityMetadata[]): unknown {
    const target = property.targetMeta;
    if (property.kind === ReferenceKind.EMBEDDED) {
      const parts = target!.props.filter(needsValue);
      const values = Object.fromEntries(parts.map((part) => [part.name, this.#valueOf(target!, part, number, below)]));
      return property.array ? [values] : values;
    }
    if (property.kind === ReferenceKind.SCALAR) return uniqueValue(meta, property.name, number);
    return new Factory<object>(this.#factories, target!.class, {}).#make({}, below);
  }
}

function valuesOf<Entity>(overrides: FactoryOverrides<Entity>, number: number): object {
  return typeof overrides === 'function' ? overrides(number) : overrides;
}

/** True if a record cannot be stored without a value of the property. */
function needsValue(property: EntityProperty): boolean {
  const { kind, nullable, persist, onCreate, generated, formula, version, autoincrement, embedded } = property;
  if (kind === ReferenceKind.ONE_TO_MANY || kind === ReferenceKind.MANY_TO_MANY) return false;
  if (kind === ReferenceKind.ONE_TO_ONE && !property.owner) return false;
  if (nullable || persist === false || embedded !== undefined) return false;
  if (property.default !== undefined || property.defaultRaw !== undefined) return false;
  if ([onCreate, generated, formula].some((source) => source !== undefined)) return false;
  if (version === true || autoincrement === true) return false;
  return !(property.primary && isMadeKey(property));
}

/** True if the database or the driver makes the key. */
function isMadeKey({ runtimeType, type, kind }: EntityProperty): boolean {
  return kind === ReferenceKind.SCALAR && (runtimeType === 'number' || /int|serial|objectid/i.test(type));
}
