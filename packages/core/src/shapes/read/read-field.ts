import type { FastifyRequest } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import type { PathOf } from '../../fields/field-name.ts';
import { isRecord } from '../../support/json.ts';
import { wrongOption } from '../../errors/options.ts';
import type { KnownPart } from '../known-part.ts';
import { isUnsafeName } from '../../schema/scan-input.ts';
import { type ObjectSchema, objectIn } from '../schema-object.ts';
import type { ReadValue } from '../wire-value.ts';
import type { RelatedValue } from './related-value.ts';

/**
 * One field of a response: a column, an object of a related record or embeddable, a value computed from related
 * records, or a computed field.
 */
export interface ReadField {
  readonly name: string;
  readonly schema: TSchema;
  /** The path to the column or object: `name`, or through to-one relations, `role.name`. */
  readonly path: string;
  /** The fields of an object. */
  readonly fields?: readonly ReadField[];
  readonly computed?: Computed<unknown>;
  /** The value computed from related records. */
  readonly relatedValue?: RelatedValue<unknown, unknown>;
  /** The visible part of the column's value, if the application declared a schema for it. */
  readonly known?: KnownPart;
  /** True for a schema written by hand, in which a JSON column has a schema of its values. */
  readonly byHand?: boolean;
  /** The records of the to-many relation in `path`. */
  readonly many?: ManyField;
}

/** The array of a to-many relation. */
export interface ManyField {
  /** The fields of each related record, or the single value to show of it. */
  readonly shown: readonly ReadField[] | ReadField;
  readonly orderBy: readonly string[];
  readonly limit: number | undefined;
}

/** Lists the fields of a hand-written schema: columns, and objects for relations. */
export function readFieldsOf(schema: ObjectSchema): ReadField[] {
  return Object.entries<TSchema>(schema.properties).map(([name, child]) => {
    if (isUnsafeName(name)) throw new ImproperlyConfigured(`"${name}" cannot be the name of a field of a read shape`);
    const nested = objectIn(child);
    return { name, path: name, schema: child, byHand: true, ...(nested && { fields: readFieldsOf(nested) }) };
  });
}

/** A field of a read shape that a function computes from other fields. */
export interface Computed<Entity, Path extends string = string, Schema extends TSchema = TSchema> {
  readonly schema: Schema;
  /** The fields that the function receives. */
  readonly paths: readonly Path[];
  readonly compute: (record: never, request: FastifyRequest) => unknown;
  /** Only for the types. */
  readonly entity?: (entity: Entity) => void;
}

/** The named fields of a record, by path, with the entity's values: a Date is a Date. */
export type ComputedRecord<Entity, Path extends string> = { readonly [Name in Path]: ReadValue<Entity, Name> };

/**
 * Makes a field of a read shape that is computed from other fields. The function is called for every record. It gets only the named fields,
 * which the response need not show. It must be synchronous and return JSON that fits the schema. If it declares a second parameter, it gets
 * the request too.
 *
 * Throws ImproperlyConfigured for arguments of the wrong kind or order.
 *
 * @example
 * readShape(Account, ['id'], {
 *   label: computed(Type.String(), ['name', 'role.name'], (account) => `${account.name} (${account['role.name'] ?? '-'})`),
 * });
 */
export function computed<Entity, const Path extends PathOf<Entity, '.'>, Schema extends TSchema>(
  schema: Schema,
  paths: readonly Path[],
  compute: (record: ComputedRecord<Entity, Path>, request: FastifyRequest) => NoInfer<Static<Schema>>,
): Computed<Entity, Path, Schema> {
  if (!isRecord(schema)) throw wrongOption('computed()', 'schema', 'a schema, first', schema);
  const given: unknown = paths;
  const arePaths = Array.isArray(given) && given.every((path) => typeof path === 'string');
  if (!arePaths) throw wrongOption('computed()', 'paths', 'an array of paths, second', given);
  if (typeof compute !== 'function') throw wrongOption('computed()', 'compute', 'a function, third', compute);
  return { schema, paths, compute };
}

/** Reports whether the function of a computed field declares a parameter for the request. */
export function takesRequest({ compute }: Computed<unknown>): boolean {
  return compute.length > 1;
}

export function isComputed(value: unknown): value is Computed<unknown> {
  return typeof value === 'object' && value !== null && 'compute' in value && typeof value.compute === 'function';
}
