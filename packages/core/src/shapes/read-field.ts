import type { TSchema } from 'typebox';
import { ImproperlyConfigured } from '../errors.ts';
import type { Computed } from './computed.ts';
import { isUnsafeName } from './scan-input.ts';
import { objectIn, type ObjectSchema } from './schema-object.ts';

/** One field of an answer, and where it comes from. */
export type ReadField = ColumnField | ComputedField | NestedField;

interface ColumnField {
  readonly kind: 'column';
  readonly name: string;
  /** `name`, or a path through to-one relations, `role.name`. */
  readonly path: string;
  readonly schema: TSchema;
}

interface ComputedField {
  readonly kind: 'computed';
  readonly name: string;
  readonly computed: Computed<unknown>;
  readonly schema: TSchema;
}

/** A related record or an embeddable as an object of its own, null if there is none. */
export interface NestedField {
  readonly kind: 'nested';
  readonly name: string;
  readonly relation: string;
  readonly fields: readonly ReadField[];
  readonly schema: TSchema;
}

/** The fields of a schema written by hand: columns, and objects in the place of relations. */
export function readFieldsOf(schema: ObjectSchema): ReadField[] {
  return Object.entries<TSchema>(schema.properties).map(([name, child]) => {
    if (isUnsafeName(name)) throw new ImproperlyConfigured(`"${name}" is no name for a field of a read shape`);
    const nested = objectIn(child);
    if (nested === undefined) return { kind: 'column', name, path: name, schema: child };
    return { kind: 'nested', name, relation: name, fields: readFieldsOf(nested), schema: child };
  });
}
