import { type EntityProperty, JsonType } from '@mikro-orm/core';

/**
 * Returns the default value of a property. MikroORM declares that of a JSON column as text, `default('{}')`, and gives
 * new entities the text itself. The database reads it as JSON, and so does this function. A text that is no JSON stays.
 */
export function defaultOf({ default: given, customType }: EntityProperty): unknown {
  const value: unknown = given;
  if (typeof value !== 'string' || !(customType instanceof JsonType)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

/** Adds the defaults of JSON columns to the data of a new record. */
export function withJsonDefaults(properties: readonly EntityProperty[], data: object): object {
  const added = properties.flatMap((property) => {
    const { name, default: given, embedded } = property;
    // The parts of an embeddable have their defaults when it comes into being.
    if (embedded !== undefined || (data as Record<string, unknown>)[name] !== undefined) return [];
    const value = defaultOf(property);
    return value === given ? [] : [[name, value] as const];
  });
  return added.length === 0 ? data : { ...data, ...Object.fromEntries(added) };
}
