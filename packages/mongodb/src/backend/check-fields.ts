import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { ImproperlyConfigured } from '@viewset/core';

/** @throws ImproperlyConfigured for an entity with a field that MongoDB cannot store faithfully */
export function checkFields(meta: EntityMetadata): void {
  for (const property of meta.props) {
    const problem = problemOf(property);
    if (problem !== undefined) {
      throw new ImproperlyConfigured(`${meta.className} is not supported on MongoDB: "${property.name}" ${problem}`);
    }
  }
}

function problemOf({ formula, fieldNames, pivotEntity }: EntityProperty): string | undefined {
  if (pivotEntity !== undefined) return 'is a many to many with a pivot entity, where documents hold a list of keys';
  if (formula !== undefined) return 'is a formula, which is SQL';
  const odd = (fieldNames as string[] | undefined)?.find((name) => /^[$~]|\./.test(name));
  return odd === undefined
    ? undefined
    : `is kept in a field called "${odd}", which means something else in its queries`;
}
