import { Utils, type EntityMetadata, type EntityProperty, type FilterQuery } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';
import { isReference, isToMany } from '../fields/property.ts';
import { and, matching, not, or, some, type Condition } from './condition.ts';
import { entryCondition } from './where-condition.ts';

/**
 * Says a condition of MikroORM without its words for relations, for a database of which MikroORM asks nothing across them: what it
 * asks of the entity's own columns stays `matching`. Undefined if it asks nothing across relations.
 *
 * @throws ImproperlyConfigured if that cannot be said
 */
export function acrossRelations(meta: EntityMetadata, where: FilterQuery<object>): Condition | undefined {
  return crossesRelation(meta, where) ? crossing({ root: meta, entity: meta, steps: [] }, where) : undefined;
}

function crossesRelation(meta: EntityMetadata, where: unknown): boolean {
  if (Array.isArray(where)) return where.some((one) => crossesRelation(meta, one));
  if (!Utils.isPlainObject<Record<string, unknown>>(where)) return false;
  return Object.entries(where).some(([name, value]) =>
    LOGICAL.has(name) ? crossesRelation(meta, value) : relationAt(meta, name, value) !== undefined,
  );
}

const LOGICAL = new Set(['$and', '$or', '$not']);

/** The entity whose fields a value asks about. A relation to many is asked for its records' key too. */
function relationAt(meta: EntityMetadata, name: string, value: unknown): EntityMetadata | undefined {
  const property = propertyOf(meta, name);
  if (property === undefined || !isReference(property)) return undefined;
  const asksFields = Utils.isPlainObject(value) && Object.keys(value).some((key) => !key.startsWith('$'));
  const asksMany = isToMany(property) && value !== null;
  return asksFields || asksMany ? property.targetMeta : undefined;
}

/** The relations to one that lead from where paths begin to an entity. */
interface Place {
  readonly root: EntityMetadata;
  readonly entity: EntityMetadata;
  readonly steps: readonly EntityProperty[];
}

function crossing(place: Place, where: unknown): Condition {
  if (Array.isArray(where)) return or(...where.map((one) => crossing(place, one)));
  if (!Utils.isPlainObject<Record<string, unknown>>(where)) throw unsayable(place);
  return and(...Object.entries(where).map(([name, value]) => crossingEntry(place, name, value)));
}

function crossingEntry(place: Place, name: string, value: unknown): Condition {
  if (name === '$not') return not(crossing(place, value));
  if (name === '$and' || name === '$or') {
    const inner = (Array.isArray(value) ? value : [value]).map((one) => crossing(place, one));
    return name === '$and' ? and(...inner) : or(...inner);
  }
  const { root, entity, steps } = place;
  const target = relationAt(entity, name, value);
  if (target === undefined) {
    if (steps.length === 0) return matching(root, { [name]: value });
    const path = [...steps.map((step) => step.name), name].join('.');
    const said = entryCondition(root, path, value, propertyOf(entity, name));
    if (said === undefined) throw unsayable(place, name);
    return said;
  }
  const property = propertyOf(entity, name) as EntityProperty;
  const asked = ofRecord(target, value);
  if (!isToMany(property)) return crossing({ root, entity: target, steps: [...steps, property] }, asked);
  return some([...steps, property], crossing({ root: target, entity: target, steps: [] }, asked));
}

/** Says a condition on a relation as one on its record: a value, a list, and operators are asked of the key. */
function ofRecord(target: EntityMetadata, value: unknown): unknown {
  const key = target.primaryKeys[0] as string;
  if (Array.isArray(value)) return { [key]: { $in: value } };
  if (!Utils.isPlainObject<Record<string, unknown>>(value)) return { [key]: value };
  const names = Object.keys(value);
  if (names.length === 1 && names[0] === '$some') return value['$some'];
  return names.length > 0 && names.every((name) => name.startsWith('$') && !LOGICAL.has(name))
    ? { [key]: value }
    : value;
}

function unsayable({ root, steps }: Place, name?: string): ImproperlyConfigured {
  const path = [...steps.map((step) => step.name), ...(name === undefined ? [] : [name])].join('.');
  return new ImproperlyConfigured(
    `${root.className}: what matching() asks of "${path}" cannot be asked across relations here; say it by filter(), or by keys`,
  );
}

function propertyOf({ properties }: EntityMetadata, name: string): EntityProperty | undefined {
  return (properties as Partial<Record<string, EntityProperty>>)[name];
}
