import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';

/**
 * Lists the names of the order that a to-many relation declares (`orderBy`), then those of its entity, as `title` or
 * `-author__name`.
 */
export function declaredOrder({ orderBy }: EntityProperty, target: EntityMetadata): readonly string[] {
  const names = [orderBy, target.orderBy].flatMap((order) => namesOf(order, ''));
  return names.filter((name, index) => names.findIndex((other) => plain(other) === plain(name)) === index);
}

function plain(name: string): string {
  return name.replace(/^-/, '');
}

function namesOf(order: unknown, path: string): string[] {
  if (order === null || order === undefined) return [];
  if (Array.isArray(order)) return order.flatMap((one) => namesOf(one, path));
  if (typeof order === 'object') {
    return Object.entries(order).flatMap(([name, inner]) => namesOf(inner, path === '' ? name : `${path}__${name}`));
  }
  const isDescending = order === -1 || (typeof order === 'string' && /^desc/i.test(order));
  return [`${isDescending ? '-' : ''}${path}`];
}
