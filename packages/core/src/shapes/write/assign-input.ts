import { type EntityManager, type EntityName, Utils } from '@mikro-orm/core';
import { isRecord } from '../../json.ts';
import { assignValues } from '../../mikro/assign-values.ts';
import { hiddenMembers } from '../../mikro/hidden-members.ts';
import { newEntity } from '../../mikro/new-entity.ts';
import { removeEntity } from '../../mikro/remove-entity.ts';
import type { BoundChildren, BoundField } from './bound-input.ts';
import { keyText } from '../../fields/primary-key.ts';
import { childrenOf } from './references.ts';

type Values = Record<string, unknown>;

/**
 * Lists the to-many relations that the data of an update replaces, in the form for `em.populate`. They must be loaded
 * first.
 */
export function replacedRelations(fields: readonly BoundField[], data: object): string[] {
  const relations = fields.flatMap(({ name, reference, children }) => {
    const items = (data as Values)[name];
    if (!Array.isArray(items)) return [];
    if (reference?.isMany === true) return [name];
    if (children === undefined) return [];
    // An invalid body may hold any value instead of a child.
    const changed = (items as readonly unknown[]).filter(isRecord).filter((item) => item[children.key] !== undefined);
    const inner = changed.flatMap((item) => replacedRelations(children.shape.fields, item));
    return [name, ...inner.map((relation) => `${name}.${relation}`)];
  });
  return [...new Set(relations)];
}

/**
 * Makes the entities of a new record and of its children. The next flush stores them. Each is created separately.
 * Otherwise MikroORM would take a child with the key of a known entity for that entity, and change its parent.
 *
 * @throws UniqueConstraintViolationException for a duplicate key
 */
export function makeRecord<Entity extends object>(
  em: EntityManager,
  name: EntityName<Entity>,
  data: object,
  fields: readonly BoundField[],
): Entity {
  const values = { ...data } as Values;
  const lists = fields.filter((field) => field.children !== undefined && Array.isArray(values[field.name]));
  for (const list of lists) delete values[list.name];
  const entity = newEntity(em, name, values);
  for (const list of lists) {
    for (const item of (data as Values)[list.name] as object[]) makeChild(em, list.children!, item, entity);
  }
  return entity;
}

/** Makes a child from its data. If a hook has already made the entity, stores that entity. */
function makeChild(em: EntityManager, { target, owner, shape }: BoundChildren, item: object, parent: object): void {
  const isEntity: boolean = Utils.isEntity(item);
  if (isEntity) em.persist(em.assign(item, { [owner]: parent } as never));
  else makeRecord(em, target.class, { ...item, [owner]: parent }, shape.fields);
}

/** Deletes the children that the data of an update does not list. The relations to replace must be loaded. */
export async function deleteLeftOut(
  em: EntityManager,
  entity: object,
  data: object,
  fields: readonly BoundField[],
): Promise<void> {
  if (removeLeftOut(em, entity as Values, data as Values, fields)) await em.flush();
}

/** An entity, and the values that an update gives it. */
export interface EntityChange {
  readonly entity: object;
  readonly data: Readonly<Values>;
}

/** Lists the entities that the data of an update changes: the record, and its children at every level. */
export function changesIn(entity: object, data: object, fields: readonly BoundField[]): EntityChange[] {
  const inner = fields.flatMap(({ name, children }) => {
    const items = (data as Values)[name];
    if (children === undefined || !Array.isArray(items)) return [];
    const known = childrenOf(entity, name, children);
    return (items as Values[]).flatMap(({ [children.key]: pk, ...item }) => {
      const child = known.get(keyText(pk));
      return child === undefined ? [] : changesIn(child, item, children.shape.fields);
    });
  });
  return [{ entity, data: data as Values }, ...inner];
}

/**
 * Stores the data of an update in an entity. The relations to replace must be loaded, and `deleteLeftOut` comes first. A
 * unique value may move between children. So this first changes children, then creates new ones.
 */
export async function assignInput(
  em: EntityManager,
  entity: object,
  data: object,
  fields: readonly BoundField[],
): Promise<void> {
  const creations: (() => void)[] = [];
  assign(em, entity as Values, data as Values, fields, creations);
  await em.flush();
  if (creations.length === 0) return;
  for (const create of creations) create();
  await em.flush();
}

/** Removes the children that the lists of the data omit, at every level. Returns whether there were any. */
function removeLeftOut(em: EntityManager, entity: Values, data: Values, fields: readonly BoundField[]): boolean {
  let isAny = false;
  for (const { name, children } of fields) {
    if (children === undefined || !Array.isArray(data[name])) continue;
    const items = new Map((data[name] as Values[]).map((item) => [keyText(item[children.key]), item]));
    for (const [key, child] of childrenOf(entity, name, children)) {
      const item = items.get(key);
      if (item === undefined) removeEntity(em, child);
      const isRemoved = item === undefined || removeLeftOut(em, child, item, children.shape.fields);
      isAny ||= isRemoved;
    }
  }
  return isAny;
}

/** Assigns data to an entity and its children. Collects the creation of new children in `creations`. */
function assign(
  em: EntityManager,
  entity: Values,
  data: Values,
  fields: readonly BoundField[],
  creations: (() => void)[],
): void {
  const values = { ...data };
  for (const { name, children, reference } of fields) {
    if (!Array.isArray(values[name])) continue;
    if (reference?.isMany === true) values[name] = [...(values[name] as object[]), ...hiddenMembers(em, entity, name)];
    if (children === undefined) continue;
    const { key, shape } = children;
    const known = childrenOf(entity, name, children);
    for (const { [key]: pk, ...item } of values[name] as Values[]) {
      const child = known.get(keyText(pk));
      if (child === undefined) creations.push(() => makeChild(em, children, item, entity));
      else assign(em, child, item, shape.fields, creations);
    }
    delete values[name];
  }
  assignValues(em, entity, values);
}
