import { Reference, ReferenceKind, ScalarReference, Utils } from '@mikro-orm/core';
import type { FieldPath } from '../fields/field-path.ts';
import { isLoaded } from './entities.ts';

/**
 * Makes the function that reads a path from a loaded entity: null if a relation on the way is null, the primary key of
 * a relation at the end.
 *
 * @throws Error, when called, if a relation on the way is not loaded: a missing value must not look like null
 */
export function entityReader(path: FieldPath): (entity: object) => unknown {
  const steps = path.steps.map(({ name }) => name);
  const { primary = false, lazy = false } = path.property;
  const names = namesAfter(path);
  const isRelation = path.property.targetMeta !== undefined && path.property.embeddable === undefined;
  return (entity) => {
    let current: object = entity;
    for (const step of steps) {
      const next = related(current, step);
      if (next === null) return null;
      current = next;
    }
    if (!primary && !isLoaded(current)) throw notLoaded(path.key, steps.join('.'));
    let value: unknown = current;
    for (const name of names) value = (value as Values | null | undefined)?.[name];
    if (lazy && value === undefined) throw notLoaded(path.key, path.key);
    return isRelation ? keyOf(value) : scalar(value, path.key);
  };
}

/**
 * Lists the relations and columns to load for `entityReader`: the relations on the way, and the column if it is lazy. A
 * relation is not needed if only its key is read.
 */
export function populateFor({ key, steps, property }: FieldPath): string[] {
  const last = steps.at(-1);
  const isKeyHeld = property.primary === true && (last?.kind === ReferenceKind.MANY_TO_ONE || last?.owner === true);
  const needed = isKeyHeld ? steps.slice(0, -1) : steps;
  const relations = needed.map((_, index) =>
    needed
      .slice(0, index + 1)
      .map(({ name }) => name)
      .join('.'),
  );
  return property.lazy === true ? [...relations, key] : relations;
}

/**
 * Lists the properties to read from the last entity: one name, or several into an embeddable. For the inverse side of a
 * one-to-one relation, it is the last entity's own key.
 */
function namesAfter({ key, steps, property }: FieldPath): string[] {
  const names = key.split('.').slice(steps.length);
  return names.length === 0 ? [property.name] : names;
}

type Values = Readonly<Record<string, unknown>>;

function related(entity: object, name: string): object | null {
  const value = (entity as Values)[name] as object | null | undefined;
  return value === null || value === undefined ? null : Reference.unwrapReference(value);
}

/** Returns the key of a to-one relation's value: null if there is none, a bare key unchanged. */
export function keyOf(value: unknown): unknown {
  if (value === null || value === undefined) return null;
  // A relation with `mapToPk` holds the bare key.
  if (typeof value !== 'object') return value;
  return Utils.extractPK(value) ?? value;
}

function scalar(value: unknown, key: string): unknown {
  if (!(value instanceof ScalarReference)) return value ?? null;
  if (!value.isInitialized()) throw notLoaded(key, key);
  return value.unwrap() ?? null;
}

function notLoaded(path: string, needed: string): Error {
  return new Error(`"${path}" cannot be read from the entity: "${needed}" is not loaded; populate it`);
}
