import type { FieldName } from '../fields/field-name.ts';
import type { ObjectSchema } from './schema-object.ts';

/**
 * A schema written by hand as what comes in for an entity: each of its properties must be a property of the entity.
 * Intersect it with the type of the schema, and one that names anything else does not compile.
 *
 * @example
 * function write<Schema extends ObjectSchema>(schema: Schema & WritableSchema<Product, Schema>): void;
 */
export type WritableSchema<
  Entity,
  Schema extends ObjectSchema = ObjectSchema,
> = string extends keyof Schema['properties']
  ? ObjectSchema
  : [UnknownName<Entity, Schema>] extends [never]
    ? ObjectSchema
    : { readonly properties: { readonly [Name in UnknownName<Entity, Schema>]: never } };

type UnknownName<Entity, Schema extends ObjectSchema> = Exclude<keyof Schema['properties'], FieldName<Entity>>;
