import { ImproperlyConfigured } from '../errors.ts';
import { fieldPath, type FieldPath } from '../fields/field-path.ts';
import type { EntityMetadata } from '@mikro-orm/core';

/** One key of an order. NULLs come last in ascending and first in descending order, on every database. */
export interface OrderKey {
  readonly path: FieldPath;
  readonly descending: boolean;
}

/** The same order from its other end. */
export function reversed(keys: readonly OrderKey[]): readonly OrderKey[] {
  return keys.map((key) => ({ path: key.path, descending: !key.descending }));
}

/**
 * Resolves the names of an order: `role__name`, descending with a minus in front.
 * @throws ImproperlyConfigured for an unknown name, and for a field that has no order
 */
export function orderKey(meta: EntityMetadata, name: string): OrderKey {
  const descending = name.startsWith('-');
  return checkOrderKey(meta, { path: fieldPath(meta, descending ? name.slice(1) : name, '__'), descending });
}

/** @throws ImproperlyConfigured for a path through a relation to many, and for JSON and bytes */
export function checkOrderKey(meta: EntityMetadata, key: OrderKey): OrderKey {
  const { path } = key;
  if (path.toMany) {
    throw new ImproperlyConfigured(
      `${meta.className} cannot be ordered by "${path.key}": it has many values for one record`,
    );
  }
  if (path.type.kind === 'json' || path.type.kind === 'binary') {
    throw new ImproperlyConfigured(
      `${meta.className} cannot be ordered by "${path.key}": it is of type ${path.type.kind}`,
    );
  }
  return key;
}

/** The order with the primary key as its last key, unless it is in it: no two records are equal in it. */
export function totalOrder(meta: EntityMetadata, order: readonly OrderKey[]): readonly OrderKey[] {
  const pk = fieldPath(meta, meta.primaryKeys[0] as string, '.');
  return order.some((key) => key.path === pk) ? order : [...order, { path: pk, descending: false }];
}
