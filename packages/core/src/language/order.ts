import type { EntityMetadata } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../errors.ts';
import { FIELD_KINDS } from '../fields/field-kinds.ts';
import { fieldPath, type FieldPath } from '../fields/field-path.ts';
import { primaryKey } from '../fields/primary-key.ts';
import { valueProperty } from '../fields/property.ts';
import { getOrMake } from '../get-or-make.ts';

/** One key of an order. On every database, NULL comes last in ascending order and first in descending order. */
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

/** @throws ImproperlyConfigured for a path through a relation to many, for JSON and bytes, and for a column of a type without an order */
export function checkOrderKey(meta: EntityMetadata, key: OrderKey): OrderKey {
  const { path } = key;
  if (path.toMany) {
    throw new ImproperlyConfigured(
      `${meta.className} cannot be ordered by "${path.key}": it has several values for each record`,
    );
  }
  if (FIELD_KINDS[path.type.kind].comparability === 'not at all') {
    throw new ImproperlyConfigured(
      `${meta.className} cannot be ordered by "${path.key}": it is of type ${path.type.kind}`,
    );
  }
  if (path.type.lacks !== undefined) {
    const column = valueProperty(path.property).columnTypes[0];
    throw new ImproperlyConfigured(`${meta.className} cannot be ordered by "${path.key}": "${column}" has no order`);
  }
  return key;
}

/** An order that was asked for, and the total order that it comes to. */
export class Order {
  readonly keys: readonly OrderKey[];
  readonly #meta: EntityMetadata;
  #total: readonly OrderKey[] | undefined;

  /** @throws ImproperlyConfigured as `checkOrderKey` */
  constructor(meta: EntityMetadata, keys: readonly OrderKey[]) {
    for (const key of keys) checkOrderKey(meta, key);
    this.keys = keys;
    this.#meta = meta;
  }

  /** The keys with the primary key as the last one, unless it is among them: no two records are equal in it. */
  get total(): readonly OrderKey[] {
    return (this.#total ??= withKey(this.keys, primaryKey(this.#meta)));
  }
}

function withKey(keys: readonly OrderKey[], key: FieldPath): readonly OrderKey[] {
  return keys.some(({ path }) => path === key) ? keys : [...keys, { path: key, descending: false }];
}

const withoutOrder = new WeakMap<EntityMetadata, Order>();

/** The order of the primary key, if no other was asked for. */
export function noOrder(meta: EntityMetadata): Order {
  return getOrMake(withoutOrder, meta, () => new Order(meta, []));
}
