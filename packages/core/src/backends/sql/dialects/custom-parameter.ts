import type { Platform } from '@mikro-orm/core';
import type { FieldPath } from '../../../fields/field-path.ts';
import { customTypeOf } from '../../../fields/field-type.ts';
import { valueProperty } from '../../../fields/property.ts';
import { COLUMN, OPERATORS, VALUE, type Comparison } from './dialect.ts';
import type { Lookup } from '../../../language/lookup.ts';

/**
 * How a column of the application's own type is compared: each value goes through its `convertToDatabaseValue` (and
 * `convertToDatabaseValueSQL`). Undefined for columns of MikroORM's types.
 */
export function customParameter(
  path: FieldPath,
  platform: Platform,
  lookup: Lookup,
  value: unknown,
  bindable: (value: unknown) => unknown,
): Comparison | undefined {
  const custom = customTypeOf(path.property);
  if (custom === undefined) return undefined;
  const { hasConvertToDatabaseValueSQL, name } = valueProperty(path.property);
  const sql = hasConvertToDatabaseValueSQL ? (custom.convertToDatabaseValueSQL?.(VALUE, platform) ?? VALUE) : VALUE;
  const context = { fromQuery: true, key: name, mode: 'query' as const };
  const convert = (item: unknown): unknown => bindable(custom.convertToDatabaseValue(item, platform, context));
  switch (lookup) {
    case 'in': {
      const values = (value as unknown[]).map(convert);
      return { template: `${COLUMN} in (${values.map(() => sql).join(', ')})`, values };
    }
    case 'range':
      return { template: `${COLUMN} between ${sql} and ${sql}`, values: (value as unknown[]).map(convert) };
    case 'ne':
      // Not every type of column knows "is distinct from" on every database.
      return { template: `(${COLUMN} = ${sql}) is not true`, values: [convert(value)] };
    default:
      return { template: `${COLUMN} ${OPERATORS[lookup] ?? '='} ${sql}`, values: [convert(value)] };
  }
}
