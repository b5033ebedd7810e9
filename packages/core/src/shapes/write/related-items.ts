import { isRecord } from '../../support/json.ts';
import type { BoundField } from './bound-input.ts';
import { DEFAULT_MAX_REFERENCES } from './to-many-input.ts';

type Fields = readonly Pick<BoundField, 'name' | 'children' | 'maxItems'>[];

/** Counts the related records in validated values: the items of all lists, including lists in nested records. */
export function countRelated(fields: Fields, values: unknown): number {
  if (!isRecord(values)) return 0;
  let count = 0;
  for (const { name, children, maxItems } of fields) {
    const value = values[name];
    if (children?.isOne === true) count += countRelated(children.shape.fields, value);
    if (maxItems === undefined || !Array.isArray(value)) continue;
    count += value.length;
    if (children !== undefined) for (const item of value) count += countRelated(children.shape.fields, item);
  }
  return count;
}

/**
 * Returns the most related records in one body. Each list has its own maximum, and nested lists would multiply theirs.
 * So all lists together may have as many items as the largest maximum, and at least 1,000.
 */
export function maxRelated(fields: Fields): number {
  const sizes = fields.flatMap(({ children, maxItems = 0 }) => [
    maxItems,
    children && maxRelated(children.shape.fields),
  ]);
  return Math.max(DEFAULT_MAX_REFERENCES, ...sizes.map((max = 0) => max));
}
