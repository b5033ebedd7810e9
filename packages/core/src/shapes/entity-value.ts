import { helper, Reference, ScalarReference } from '@mikro-orm/core';
import type { FieldPath } from '../fields/field-path.ts';

/**
 * Reads what a path leads to from an entity that is loaded: null where there is nothing on the way, the primary key of
 * a relation at the end.
 *
 * @throws Error, when called, where a relation on the way is not loaded: a missing value must not pass for null
 */
export function entityReader(path: FieldPath): (entity: object) => unknown {
  const steps = path.steps.map(({ name }) => name);
  const { name, primary = false } = path.property;
  const isRelation = path.property.targetMeta !== undefined;
  return (entity) => {
    let current: object = entity;
    for (const step of steps) {
      const next = related(current, step);
      if (next === null) return null;
      current = next;
    }
    if (!primary && helper(current)?.isInitialized() === false) throw notLoaded(path.key, steps.join('.'));
    return isRelation ? keyOf((current as Values)[name]) : scalar((current as Values)[name], path.key);
  };
}

/** The relations that must be loaded for `entityReader`: all on the way, but for those whose key is all that is asked. */
export function populateFor(path: FieldPath): string[] {
  const needed = path.property.primary === true ? path.steps.slice(0, -1) : path.steps;
  return needed.map((_, index) => needed.slice(0, index + 1).map(({ name }) => name).join('.'));
}

type Values = Readonly<Record<string, unknown>>;

function related(entity: object, name: string): object | null {
  const value = (entity as Values)[name] as object | null | undefined;
  return value === null || value === undefined ? null : Reference.unwrapReference(value);
}

function keyOf(value: unknown): unknown {
  if (value === null || value === undefined) return null;
  // A relation that is mapped to its key holds the key itself.
  if (typeof value !== 'object') return value;
  const entity = Reference.unwrapReference(value);
  return helper(entity)?.getPrimaryKey() ?? value;
}

function scalar(value: unknown, key: string): unknown {
  if (!(value instanceof ScalarReference)) return value ?? null;
  if (!value.isInitialized()) throw notLoaded(key, key);
  return value.unwrap() ?? null;
}

function notLoaded(path: string, needed: string): Error {
  return new Error(`"${path}" cannot be read from the entity: "${needed}" is not loaded; populate it`);
}
