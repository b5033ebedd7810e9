import type { TObject } from 'typebox';
import type { FieldName } from '../fields/field-name.ts';

/**
 * A schema written by hand as what comes in for an entity: each of its properties must be a property of the entity.
 * Intersect it with the type of the schema, and one that names anything else does not compile.
 *
 * @example
 * function write<Schema extends TObject>(schema: Schema & WritableSchema<Product, Schema>): void;
 */
export type WritableSchema<Entity, Schema extends TObject = TObject> = string extends keyof Schema['properties']
  ? TObject
  : [UnknownName<Entity, Schema>] extends [never]
    ? TObject
    : { readonly properties: { readonly [Name in UnknownName<Entity, Schema>]: never } };

type UnknownName<Entity, Schema extends TObject> = Exclude<keyof Schema['properties'], FieldName<Entity>>;
