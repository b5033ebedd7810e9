import { type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { FieldPath } from '../../fields/field-path.ts';
import { fieldType } from '../../fields/field-type.ts';

/** The columns for values of these types. */
const COLUMNS = {
  integer: { type: 'integer', runtimeType: 'number', columnTypes: ['integer'] },
  boolean: { type: 'bool', runtimeType: 'boolean', columnTypes: ['bool'] },
  double: { type: 'double', runtimeType: 'number', columnTypes: ['double precision'] },
} as const;

/**
 * Makes a path to a value that no column holds and that is never NULL. The database computes it, like a formula.
 *
 * @param name the name of the value's property
 * @param source where the value comes from, for errors
 */
export function computedPath(key: string, name: string, type: keyof typeof COLUMNS, source: string): FieldPath {
  const declared = {
    name,
    kind: ReferenceKind.SCALAR,
    ...COLUMNS[type],
    fieldNames: [],
    persist: false,
    formula: () => {
      throw new Error(`"${name}" comes from ${source}, not from a formula`);
    },
  };
  const property = declared as unknown as EntityProperty;
  return { key, steps: [], property, type: fieldType(property), nullable: false, toMany: false };
}
