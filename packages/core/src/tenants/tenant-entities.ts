import {
  type EntityClass,
  type EntityMetadata,
  type EntityName,
  type EntityProperty,
  ReferenceKind,
  Utils,
} from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors/errors.ts';
import { isToMany, isToOne, ownsColumn } from '../fields/property.ts';
import { nearest } from '../errors/nearest.ts';
import type { TenantOptions } from './tenant-options.ts';

type Class = EntityMetadata['class'];

/** The entities whose records belong to tenants, and the property of each that has the tenant. */
export class TenantEntities {
  readonly #properties = new Map<Class, string>();
  readonly #all: readonly EntityMetadata[];

  /** @throws ImproperlyConfigured that names the entity and the property that do not fit */
  constructor(metadata: Iterable<EntityMetadata>, { entities, shared = [] }: TenantOptions) {
    this.#all = [...metadata];
    for (const [property, named] of Object.entries(entities)) {
      for (const entity of named) this.#add(this.#find(entity), property);
    }
    const exempt = new Set(shared.flatMap((entity) => this.#withSubclasses(this.#find(entity))));
    for (const meta of this.#all) {
      if (!this.#properties.has(meta.class) && !exempt.has(meta)) this.#checkShared(meta);
    }
  }

  get classes(): EntityClass<object>[] {
    return [...this.#properties.keys()] as EntityClass<object>[];
  }

  /** The property that has the tenant of an entity's records. Undefined for an entity that tenants share. */
  propertyOf({ class: entity }: Pick<EntityMetadata, 'class'>): string | undefined {
    return this.#properties.get(entity);
  }

  /** Lists unique columns whose values one tenant can find out about another, as `Project.name`. */
  get sharedUniques(): string[] {
    return this.#all.flatMap((meta) => {
      const tenant = this.propertyOf(meta);
      if (tenant === undefined || meta.properties[tenant as never] === undefined) return [];
      if (meta.primaryKeys.some((each) => each === tenant)) return [];
      const alone = meta.props.filter(({ unique = false, name }) => unique !== false && name !== tenant);
      const together = (meta.uniques ?? []).map(({ properties = [] }) => [properties].flat().map(String));
      const lacking = together.filter((names) => names.length > 0 && !names.includes(tenant));
      const named = [...alone.map(({ name }) => [name]), ...lacking];
      return [...new Set(named.map((names) => `${meta.className}.${names.join('+')}`))];
    });
  }

  #find(entity: EntityName): EntityMetadata {
    const name = Utils.className(entity);
    const found = this.#all.find((meta) => meta.class === entity || meta.className === name);
    if (found !== undefined) return found;
    throw new ImproperlyConfigured(`tenant(): ${name} is not among the entities of this MikroORM`);
  }

  #add(meta: EntityMetadata, name: string): void {
    const { className, root } = meta;
    if (root.class !== meta.class) {
      throw new ImproperlyConfigured(
        `tenant(): ${className} shares a table with ${root.className}; list ${root.className}, which stands for both`,
      );
    }
    const property = meta.properties[name as never] as EntityProperty | undefined;
    if (property === undefined) {
      const meant = nearest(name, Object.keys(meta.properties));
      const hint = meant === undefined ? '' : `; did you mean "${meant}"?`;
      throw new ImproperlyConfigured(`tenant(): ${className} has no property "${name}"${hint}`);
    }
    if (!isTenantColumn(property)) {
      throw new ImproperlyConfigured(
        `tenant(): ${className}.${name} must be a stored column with one value, or a relation to one record`,
      );
    }
    for (const each of this.#withSubclasses(meta)) {
      if (this.#properties.has(each.class)) {
        throw new ImproperlyConfigured(`tenant(): ${className} is listed twice in "entities"`);
      }
      this.#properties.set(each.class, name);
    }
  }

  #withSubclasses(meta: EntityMetadata): EntityMetadata[] {
    return this.#all.filter((each) => each === meta || each.root === meta);
  }

  /** @throws ImproperlyConfigured for an entity that should probably be listed */
  #checkShared(meta: EntityMetadata): void {
    if (meta.pivotTable === true || meta.embeddable || meta.abstract) return;
    const names = new Set(this.#properties.values());
    const column = meta.props.find(({ name, primary }) => primary !== true && names.has(name));
    const relation = meta.relations.find((property) => this.#leadsToTenants(property));
    const why =
      column === undefined
        ? relation && `refers to ${relation.targetMeta?.className ?? ''} by "${relation.name}"`
        : `has the property "${column.name}"`;
    if (why === undefined) return;
    throw new ImproperlyConfigured(
      `tenant(): ${meta.className} ${why}, but is not listed: add it to "entities", or to "shared" if every tenant may see its records`,
    );
  }

  #leadsToTenants(property: EntityProperty): boolean {
    const isStoredHere = ownsColumn(property) || (isToMany(property) && property.owner);
    const targets = property.polymorphTargets ?? (property.targetMeta === undefined ? [] : [property.targetMeta]);
    return isStoredHere && targets.some((target) => this.#properties.has(target.class));
  }
}

function isTenantColumn(property: EntityProperty): boolean {
  const { kind, persist, formula, embedded } = property;
  if (persist === false || formula !== undefined || embedded !== undefined) return false;
  return isToOne(property) ? ownsColumn(property) : kind === ReferenceKind.SCALAR;
}
