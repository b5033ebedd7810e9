import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { isEmbeddable, targetOf } from '../../fields/property.ts';
import { isRecord } from '../../support/json.ts';
import type { Problem } from '../../schema/scan-input.ts';
import { mapObjects, partialOf, withProperties } from '../schema-object.ts';
import type { TObject } from 'typebox';
import type { BoundField } from './bound-input.ts';
import { nestedObjects } from './stored-children.ts';

type Values = Readonly<Record<string, unknown>>;

/**
 * The schema of PATCH: any part of an object. An embeddable is merged (RFC 7396), so nothing of it is required either.
 *
 * @param propertyOf returns the property that a field writes
 */
export function patchOf(schema: TObject, propertyOf: (field: string) => EntityProperty | undefined): TObject {
  const partial = partialOf(schema);
  const properties = Object.entries(partial.properties).map(([name, child]) => {
    const property = propertyOf(name);
    if (property === undefined || !isEmbeddable(property) || property.array === true) return [name, child] as const;
    const { properties: parts } = targetOf(property) as EntityMetadata;
    return [name, mapObjects(child, (object) => patchOf(object, (part) => parts[part as never]))] as const;
  });
  return withProperties(partial, Object.fromEntries(properties));
}

/** Adds the values of the parts that an embeddable does not have: their defaults, or null. */
export function withDefaults(parts: readonly BoundField[], sent: Values): Record<string, unknown> {
  const complete: Record<string, unknown> = { ...sent };
  for (const { name, whenAbsent } of parts) {
    if (complete[name] === undefined && whenAbsent !== undefined) complete[name] = whenAbsent();
  }
  return complete;
}

/**
 * Merges the embeddables in the data of an update with those of the record. A part that is not sent keeps its value. If
 * the record has no such embeddable, a new one gets its defaults.
 *
 * @param problems receives a problem for each missing part of a new embeddable
 */
export function mergeEmbeddables(
  fields: readonly BoundField[],
  data: object,
  entity: object | undefined,
  at: string,
  problems: Problem[],
): object {
  const merged: Record<string, unknown> = { ...data };
  const record = entity as Values | undefined;
  for (const field of fields) {
    const { name, parts, isList = false, children } = field;
    const value = merged[name];
    if (parts !== undefined && !isList && isRecord(value)) {
      merged[name] = mergeParts(parts, value, record?.[name] ?? undefined, at, problems);
    } else if (children !== undefined && value !== undefined) {
      merged[name] = mergeNested(field, merged, record, at, problems);
    }
  }
  return merged;
}

/** Merges the embeddables in the objects of a nested field with those of the records that they change. */
function mergeNested(
  field: BoundField,
  data: Values,
  record: object | undefined,
  at: string,
  problems: Problem[],
): unknown {
  const merged = new Map<unknown, object>();
  for (const { item, path, child } of nestedObjects(field, data, record)) {
    const { fields } = field.children!.shape;
    if (child !== undefined) merged.set(item, mergeEmbeddables(fields, item, child, at + path, problems));
  }
  const mergedItem = (item: unknown): unknown => merged.get(item) ?? item;
  const value = data[field.name];
  return Array.isArray(value) ? value.map(mergedItem) : mergedItem(value);
}

function mergeParts(
  parts: readonly BoundField[],
  sent: Values,
  current: object | undefined,
  at: string,
  problems: Problem[],
): object {
  const merged = mergeEmbeddables(parts, sent, current, at, problems) as Record<string, unknown>;
  if (current !== undefined) {
    const kept = parts.filter(({ name }) => merged[name] === undefined);
    return { ...merged, ...Object.fromEntries(kept.map(({ name }) => [name, (current as Values)[name]])) };
  }
  for (const { name, path, isRequired } of parts) {
    if (isRequired === true && merged[name] === undefined) problems.push({ path: at + path, message: 'is required' });
  }
  return withDefaults(parts, merged);
}
