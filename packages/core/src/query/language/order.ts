import type { EntityMetadata } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { FIELD_KINDS } from '../../fields/field-kinds.ts';
import { fieldPath, type FieldPath } from '../../fields/field-path.ts';
import { primaryKey } from '../../fields/primary-key.ts';
import { valueProperty } from '../../fields/property.ts';
import { getOrMake } from '../../support/get-or-make.ts';

/** One key of an order. On every database, NULL comes last in ascending order and first in descending order. */
export interface OrderKey {
  readonly path: FieldPath;
  readonly descending: boolean;
}

/** Returns the reverse of an order. */
export function reversed(keys: readonly OrderKey[]): readonly OrderKey[] {
  return keys.map((key) => ({ path: key.path, descending: !key.descending }));
}

/**
 * Resolves the name of an order key: `role__name`, or `-role__name` for descending.
 * @throws ImproperlyConfigured for an unknown name, and for a field without an order
 */
export function orderKey(meta: EntityMetadata, name: string): OrderKey {
  const descending = name.startsWith('-');
  return checkOrderKey(meta, { path: fieldPath(meta, descending ? name.slice(1) : name, '__'), descending });
}

/** @throws ImproperlyConfigured for a to-many path, for JSON and bytes, and for a column type without an order */
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

/** A requested order, and the total order made from it. */
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

  /** The keys, followed by the primary key unless they contain it. So no two records are equal in this order. */
  get total(): readonly OrderKey[] {
    return (this.#total ??= withKey(this.keys, primaryKey(this.#meta)));
  }
}

function withKey(keys: readonly OrderKey[], key: FieldPath): readonly OrderKey[] {
  return keys.some(({ path }) => path === key) ? keys : [...keys, { path: key, descending: false }];
}

const withoutOrder = new WeakMap<EntityMetadata, Order>();

/** Returns the order by primary key, for queries without another order. */
export function noOrder(meta: EntityMetadata): Order {
  return getOrMake(withoutOrder, meta, () => new Order(meta, []));
}
