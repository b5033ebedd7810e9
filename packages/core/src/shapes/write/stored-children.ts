import { Reference } from '@mikro-orm/core';
import { keyText } from '../../fields/primary-key.ts';
import { isRecord } from '../../support/json.ts';
import { isLoaded } from '../../mikro/entities.ts';
import type { BoundChildren, BoundField } from './bound-input.ts';

type Values = Record<string, unknown>;

/** Returns the loaded children of a record, by key: those in a collection, or the record of a to-one relation. */
export function childrenOf(entity: object, name: string, { key, isOne }: BoundChildren): Map<string, Values> {
  const keyOf = (child: Values): string => (key === undefined ? '' : keyText(child[key]));
  if (isOne) {
    const child = recordOf(entity, name);
    return new Map(child !== undefined && isLoaded(child) ? [[keyOf(child), child]] : []);
  }
  const items = ((entity as Values)[name] as { getItems(): Values[] } | undefined)?.getItems() ?? [];
  return new Map(items.map((child) => [keyOf(child), child]));
}

function recordOf(entity: object, name: string): Values | undefined {
  const value = (entity as Values)[name];
  return value === undefined || value === null ? undefined : (Reference.unwrapReference(value) as Values);
}

/** An object of a nested field, and the stored record that it changes. */
export interface NestedObject {
  readonly item: Values;
  /** The JSON pointer to the object in the body of its parent. */
  readonly path: string;
  /** Undefined if the object is a new record. */
  readonly child: Values | undefined;
}

/**
 * Lists the objects that data has in a nested field. An invalid body may have any value there, so others are left out.
 *
 * @param entity the parent, with its children loaded; undefined for a new one
 */
export function nestedObjects(
  { name, path, children }: BoundField,
  data: object,
  entity: object | undefined,
): NestedObject[] {
  const value = (data as Values)[name];
  if (children === undefined || !(children.isOne ? isRecord(value) : Array.isArray(value))) return [];
  const known = entity === undefined ? undefined : childrenOf(entity, name, children);
  if (children.isOne) {
    const [child] = known?.values() ?? [];
    return [{ item: value as Values, path, child }];
  }
  return (value as unknown[]).flatMap((item, index) => {
    if (!isRecord(item)) return [];
    const child = children.key === undefined ? undefined : known?.get(keyText(item[children.key]));
    return [{ item, path: `${path}/${index}`, child }];
  });
}
