import { type EntityManager, type EntityName, Utils } from '@mikro-orm/core';
import { isRecord } from '../../support/json.ts';
import { assignValues } from '../../mikro/assign-values.ts';
import { hiddenMembers } from '../../mikro/hidden-members.ts';
import { newEntity } from '../../mikro/new-entity.ts';
import { removeEntity } from '../../mikro/remove-entity.ts';
import { forgetUndeclared } from '../../mikro/undeclared-keys.ts';
import type { BoundChildren, BoundField } from './bound-input.ts';
import { childrenOf, nestedObjects } from './stored-children.ts';

type Values = Record<string, unknown>;

/**
 * Lists the relations that the data of an update replaces, in the form for `em.populate`: to-many relations, and those
 * of nested records. They must be loaded first.
 */
export function replacedRelations(fields: readonly BoundField[], data: object): string[] {
  const relations = fields.flatMap((field) => {
    const { name, reference, children } = field;
    const value = (data as Values)[name];
    if (reference?.isMany === true) return Array.isArray(value) ? [name] : [];
    if (children === undefined || !isNested(children, value)) return [];
    const { isOne, key, shape } = children;
    const changed = nestedObjects(field, data, undefined)
      .map(({ item }) => item)
      .filter((item) => isOne || (key !== undefined && item[key] !== undefined));
    const inner = changed.flatMap((item) => replacedRelations(shape.fields, item));
    return [name, ...inner.map((relation) => `${name}.${relation}`)];
  });
  return [...new Set(relations)];
}

/** True for a value that writes nested records: a list, an object, or null. An invalid body may hold any value. */
function isNested({ isOne }: BoundChildren, value: unknown): boolean {
  return isOne ? value === null || isRecord(value) : Array.isArray(value);
}

/** Lists the nested objects of data. A hook may have made an entity of one. */
function itemsOf({ isOne }: BoundChildren, value: unknown): object[] {
  if (!isOne) return value as object[];
  return value === null ? [] : [value as object];
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
  const below: (readonly [children: BoundChildren, items: object[]])[] = [];
  for (const { name: field, children } of fields) {
    const value = values[field];
    if (children === undefined || !isNested(children, value)) continue;
    const items = itemsOf(children, value);
    if (children.owner === undefined) {
      values[field] = items[0] === undefined ? null : makeRelated(em, children, items[0]);
    } else {
      delete values[field];
      below.push([children, items]);
    }
  }
  const entity = newEntity(em, name, values);
  for (const [children, items] of below) for (const item of items) makeChild(em, children, item, entity);
  return entity;
}

/** Makes a child that refers to its parent. If a hook has already made the entity, stores that entity. */
function makeChild(em: EntityManager, { target, owner, shape }: BoundChildren, item: object, parent: object): void {
  const isEntity: boolean = Utils.isEntity(item);
  if (isEntity) em.persist(em.assign(item, { [owner!]: parent } as never));
  else makeRecord(em, target.class, { ...item, [owner!]: parent }, shape.fields);
}

/** Makes a record that its parent refers to. If a hook has already made the entity, returns that entity. */
function makeRelated(em: EntityManager, { target, shape }: BoundChildren, item: object): object {
  const isEntity: boolean = Utils.isEntity(item);
  return isEntity ? item : makeRecord(em, target.class as EntityName<object>, item, shape.fields);
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
  /** The fields that the data may have. */
  readonly fields: readonly BoundField[];
}

/** Lists the entities that the data of an update changes: the record, and its children at every level. */
export function changesIn(entity: object, data: object, fields: readonly BoundField[]): EntityChange[] {
  const inner = fields.flatMap((field) => {
    return nestedObjects(field, data, entity).flatMap(({ item, child }) => {
      return child === undefined
        ? []
        : changesIn(child, withoutKey(item, field.children!), field.children!.shape.fields);
    });
  });
  return [{ entity, data: data as Values, fields }, ...inner];
}

/** The primary key in an object names the child, and never changes. */
function withoutKey(item: Values, { key }: BoundChildren): Values {
  if (key === undefined || !Object.hasOwn(item, key)) return item;
  const { [key]: _key, ...others } = item;
  return others;
}

/**
 * Stores the data of an update in an entity. The relations to replace must be loaded, and `deleteLeftOut` comes first. A
 * unique value may move between children. So this first changes children, then creates new ones.
 *
 * @param isReplacement true to remove the keys in JSON columns that the embeddables do not declare
 */
export async function assignInput(
  em: EntityManager,
  entity: object,
  data: object,
  fields: readonly BoundField[],
  isReplacement: boolean,
): Promise<void> {
  const creations: (() => void)[] = [];
  if (isReplacement) for (const change of changesIn(entity, data, fields)) forgetReplaced(change);
  assign(em, entity as Values, data as Values, fields, creations);
  await em.flush();
  if (creations.length === 0) return;
  for (const create of creations) create();
  await em.flush();
}

/**
 * Removes the children that the data omits, at every level: those that a list does not name, and the record of a to-one
 * relation that becomes null. Returns whether there were any.
 */
function removeLeftOut(em: EntityManager, entity: Values, data: Values, fields: readonly BoundField[]): boolean {
  let isAny = false;
  for (const field of fields) {
    const { name, children } = field;
    if (children === undefined || !isNested(children, data[name])) continue;
    const items = new Map(nestedObjects(field, data, entity).map(({ item, child }) => [child, item]));
    for (const child of childrenOf(entity, name, children).values()) {
      const item = items.get(child);
      const isRemoved =
        item === undefined
          ? removeChild(em, entity, field, child)
          : removeLeftOut(em, child, item, children.shape.fields);
      isAny ||= isRemoved;
    }
  }
  return isAny;
}

/** Removes a child. A record that others may refer to stays, and only the relation ends. */
function removeChild(em: EntityManager, entity: Values, { name, children }: BoundField, child: object): boolean {
  const { owner, isShared } = children!;
  if (isShared) return false;
  if (owner === undefined) assignValues(em, entity, { [name]: null });
  removeEntity(em, child);
  return true;
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
  for (const field of fields) {
    const { name, children, reference } = field;
    const value = values[name];
    if (reference?.isMany === true && Array.isArray(value)) {
      values[name] = [...(value as object[]), ...hiddenMembers(em, entity, name)];
    }
    if (children === undefined || !isNested(children, value)) continue;
    delete values[name];
    if (value === null && children.owner === undefined) values[name] = null;
    for (const { item, child } of nestedObjects(field, data, entity)) {
      const given = withoutKey(item, children);
      if (child !== undefined) assign(em, child, given, children.shape.fields, creations);
      else creations.push(() => addChild(em, entity, field, given));
    }
  }
  assignValues(em, entity, values);
}

/** Removes the undeclared keys of the embeddables that data replaces. */
function forgetReplaced({ entity, data, fields }: EntityChange): void {
  for (const { name, parts } of fields) {
    const [value, current] = [data[name], (entity as Values)[name]];
    if (parts === undefined || !isRecord(value) || !isRecord(current)) continue;
    forgetUndeclared(current);
    forgetReplaced({ entity: current, data: value, fields: parts });
  }
}

/** Adds a new child to a stored record. */
function addChild(em: EntityManager, entity: Values, { name, children }: BoundField, item: object): void {
  if (children!.owner === undefined) assignValues(em, entity, { [name]: makeRelated(em, children!, item) });
  else makeChild(em, children!, item, entity);
}
