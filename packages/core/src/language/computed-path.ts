import { type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { FieldPath } from '../fields/field-path.ts';
import { fieldType } from '../fields/field-type.ts';

/** The columns that values of these types would have. */
const COLUMNS = {
  integer: { type: 'integer', runtimeType: 'number', columnTypes: ['integer'] },
  boolean: { type: 'bool', runtimeType: 'boolean', columnTypes: ['bool'] },
  double: { type: 'double', runtimeType: 'number', columnTypes: ['double precision'] },
} as const;

/**
 * Makes a path to a value that no column holds and that is never NULL. Like a formula, it is the database's to compute.
 *
 * @param name the name that the property of the value has
 * @param source says in errors where the value comes from
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
