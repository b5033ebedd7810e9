import {
  type AnyEntity,
  type ChangeSet,
  ChangeSetType,
  type Collection,
  type EntityManager,
  type EntityMetadata,
  type EntityName,
  type EntityProperty,
  type EventSubscriber,
  FlushMode,
  Reference,
  type UnitOfWork,
  Utils,
} from '@mikro-orm/core';
import { Forbidden, ImproperlyConfigured } from '../errors/errors.ts';
import { fieldPath } from '../fields/field-path.ts';
import { keyOfEntity, keyText } from '../fields/primary-key.ts';
import { isToMany, isToOne, ownsColumn } from '../fields/property.ts';
import { metadataOf } from '../mikro/entities.ts';
import type { TenantEntities } from './tenant-entities.ts';
import { ALL_TENANTS, isSameTenant, noScope, scopeOf, type TenantKey } from './tenant-scope.ts';

interface FlushEvent {
  readonly em: EntityManager;
  readonly uow: UnitOfWork;
}

type Values = Readonly<Record<string, unknown>>;

/** The most records of one query. */
const MAX_KEYS = 200;

/** A record that was not loaded, so that only the database knows its tenant. */
interface Unknown {
  readonly meta: EntityMetadata;
  readonly key: Values;
  readonly tenant: unknown;
  readonly refusal: () => Error;
}

/** Keeps each flush within the tenant of its entity manager, before its first statement. */
export class TenantWrites implements EventSubscriber {
  /** Flushes of other entities need no check, so that a view may write them by one statement. */
  readonly flushesOfOthers = false;
  readonly #entities: () => TenantEntities;

  constructor(entities: () => TenantEntities) {
    this.#entities = entities;
  }

  getSubscribedEntities(): EntityName[] {
    return this.#entities().classes;
  }

  /**
   * Sets the tenant of new records.
   *
   * @throws ImproperlyConfigured for an entity manager without a tenant
   * @throws Forbidden for a record of another tenant, or a reference to one
   */
  async onFlush(event: FlushEvent): Promise<void> {
    const check = new FlushCheck(event, this.#entities());
    const changes = event.uow.getChangeSets();
    for (const change of changes) check.claim(change);
    for (const change of changes) check.references(change);
    for (const collection of event.uow.getCollectionUpdates()) check.members(collection);
    await check.unknown();
  }
}

/** The check of one flush. */
class FlushCheck {
  readonly #em: EntityManager;
  readonly #uow: UnitOfWork;
  readonly #entities: TenantEntities;
  readonly #unknown: Unknown[] = [];

  constructor({ em, uow }: FlushEvent, entities: TenantEntities) {
    this.#em = em;
    this.#uow = uow;
    this.#entities = entities;
  }

  /** Checks that a written record belongs to the tenant, or makes it do so. */
  claim(change: ChangeSet<object>): void {
    const { entity } = change;
    const meta = metadataOf(this.#em, entity);
    const name = this.#entities.propertyOf(meta);
    if (name === undefined) return;
    const tenant = this.#tenantFor(meta);
    if (change.type === ChangeSetType.CREATE) return this.#claimNew(change, meta, name, tenant);
    if (tenant === ALL_TENANTS) return;
    const refusal = (): Error =>
      new Forbidden(`${meta.className} cannot be written: the record belongs to another tenant`);
    this.#belongs(entity, tenant, refusal);
    if (name in change.payload && !isSameTenant(valueOf(entity, meta, name), tenant)) throw refusal();
  }

  #claimNew(
    change: ChangeSet<object>,
    meta: EntityMetadata,
    name: string,
    tenant: TenantKey | typeof ALL_TENANTS,
  ): void {
    const { entity } = change;
    const { className, properties } = meta;
    const property = properties[name as never] as EntityProperty;
    const value = valueOf(entity, meta, name);
    const isAbsent = value === undefined || value === null;
    if (tenant === ALL_TENANTS) {
      if (!isAbsent || property.primary === true || hasNewTarget(entity, name)) return;
      throw new ImproperlyConfigured(
        `a new ${className} needs a value in "${name}": its entity manager works for all tenants`,
      );
    }
    if (!isAbsent || property.primary === true) {
      if (!isAbsent && isSameTenant(value, tenant)) return;
      throw new Forbidden(`${className} cannot be created for another tenant`);
    }
    const target = property.targetMeta?.class as EntityName<object> | undefined;
    const tenantOfRow =
      target === undefined
        ? tenant
        : this.#em.getReference(target, tenant as never, { wrapped: property.ref === true } as never);
    Object.assign(entity, { [name]: tenantOfRow });
    this.#uow.recomputeSingleChangeSet(entity);
  }

  /** Checks the records that a written record refers to. */
  references({ entity, payload, type }: ChangeSet<object>): void {
    if (type === ChangeSetType.DELETE || type === ChangeSetType.DELETE_EARLY) return;
    const meta = metadataOf(this.#em, entity);
    for (const relation of meta.relations) {
      const { name } = relation;
      if (!(name in payload) || name === this.#entities.propertyOf(meta)) continue;
      const value: unknown = entity[name as never];
      if (isToMany(relation)) {
        if (relation.owner && Utils.isCollection(value)) this.members(value);
      } else if (isToOne(relation) && ownsColumn(relation)) {
        this.#refers(entity, meta, relation, value);
      }
    }
  }

  /** Checks the members of a changed relation to many. */
  members(collection: Collection<object>): void {
    const { owner, property } = collection as unknown as { owner: AnyEntity; property: EntityProperty };
    const meta = metadataOf(this.#em, owner);
    for (const member of collection.getItems(false)) this.#refers(owner, meta, property, member);
    // The row between both sides is written, and not the owner.
    this.#refers(owner, meta, property, owner);
  }

  #refers(entity: object, meta: EntityMetadata, relation: EntityProperty, value: unknown): void {
    const unwrapped: unknown = Reference.unwrapReference(value as object);
    if (unwrapped === null || unwrapped === undefined) return;
    const target = Utils.isEntity<object>(unwrapped)
      ? unwrapped
      : this.#em.getReference<object>(relation.targetMeta!.class, unwrapped as never);
    if (this.#entities.propertyOf(metadataOf(this.#em, target)) === undefined) return;
    const tenant = this.#expected(entity, meta);
    if (tenant === undefined) return;
    this.#belongs(target, tenant, () => {
      const { className } = metadataOf(this.#em, target);
      return new Forbidden(
        `${meta.className}.${relation.name} cannot refer to this ${className}: it does not exist, or belongs to another tenant`,
      );
    });
  }

  /** The tenant that the records behind an entity's references must have. Undefined if they may have any. */
  #expected(entity: object, meta: EntityMetadata): unknown {
    const tenant = this.#tenantFor(meta);
    if (tenant !== ALL_TENANTS) return tenant;
    const name = this.#entities.propertyOf(meta);
    return name === undefined ? undefined : (valueOf(entity, meta, name) ?? undefined);
  }

  /** @throws the refusal if a record is known to belong to another tenant */
  #belongs(entity: object, tenant: unknown, refusal: () => Error): void {
    const meta = metadataOf(this.#em, entity);
    const name = this.#entities.propertyOf(meta)!;
    const stored = this.#uow.getOriginalEntityData(entity) as Values | undefined;
    const value = stored === undefined ? valueOf(entity, meta, name) : stored[name];
    // A new record is checked as such.
    if (stored === undefined && (value === undefined || value === null)) return;
    if (value === undefined) {
      const key = Object.fromEntries(meta.primaryKeys.map((each) => [each, entity[each as never]]));
      this.#unknown.push({ meta, key, tenant, refusal });
    } else if (!isSameTenant(value, tenant)) {
      throw refusal();
    }
  }

  /** Asks the database for the tenants of records that were not loaded: one query for each entity. */
  async unknown(): Promise<void> {
    const groups = Map.groupBy(this.#unknown, ({ meta, tenant }) => `${meta.className} ${keyText(tenant)}`);
    for (const group of groups.values()) {
      const byKey = new Map(group.map((each) => [JSON.stringify(Object.values(each.key).map(keyText)), each]));
      const records = [...byKey.values()];
      for (let start = 0; start < records.length; start += MAX_KEYS) {
        await this.#ask(records.slice(start, start + MAX_KEYS));
      }
    }
  }

  async #ask(records: readonly Unknown[]): Promise<void> {
    const [{ meta, tenant, refusal }] = records as readonly [Unknown, ...Unknown[]];
    const [key, ...more]: readonly string[] = meta.primaryKeys;
    const named =
      more.length === 0
        ? { [key!]: { $in: records.map((each) => each.key[key!]) } }
        : { $or: records.map((each) => each.key) };
    const where = { $and: [named, { [this.#entities.propertyOf(meta)!]: tenant }] };
    const em = this.#em.fork({ keepTransactionContext: true, flushMode: FlushMode.COMMIT });
    const count = await em.count<object>(meta.class, where, {
      filters: false,
      connectionType: 'write',
    });
    if (count < records.length) throw refusal();
  }

  /** @throws if the entity manager has no tenant */
  #tenantFor({ className }: EntityMetadata): TenantKey | typeof ALL_TENANTS {
    const scope = scopeOf(this.#em);
    if (scope === undefined) throw noScope(className);
    const tenant = scope.tenant();
    if (tenant === undefined) throw scope.refusal();
    return tenant;
  }
}

/** The value of a column; for a relation, the key of the related record. */
function valueOf(entity: object, meta: EntityMetadata, name: string): unknown {
  return keyOfEntity(entity, fieldPath(meta, name, '.'));
}

/** Reports whether a relation leads to a record that has no key yet. */
function hasNewTarget(entity: object, name: string): boolean {
  return Utils.isEntity(Reference.unwrapReference(entity[name as never] as object));
}
