import { type EntityProperty, UniqueConstraintViolationException } from '@mikro-orm/core';

/** True for an error which means that the value of this property is taken. Databases name the column in their messages. */
export function isTakenValue(error: unknown, { fieldNames = [] }: Partial<EntityProperty>): boolean {
  if (!(error instanceof UniqueConstraintViolationException)) return false;
  const words = new Set(error.message.split(/[^\p{L}\p{N}_$]+/u));
  return fieldNames.some((column) => words.has(column));
}
