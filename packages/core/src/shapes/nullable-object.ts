import type { TSchema } from 'typebox';

/** An object schema, or null: one schema of two types, which serializers need not try out as they would a union. */
export function nullableObject(schema: TSchema): TSchema {
  return { ...schema, type: ['object', 'null'] };
}
