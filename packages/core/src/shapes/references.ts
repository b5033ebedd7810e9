import type { EntityManager, EntityMetadata, EntityName } from '@mikro-orm/core';
import { fieldPath } from '../fields/field-path.ts';
import { compare } from '../language/compare.ts';
import { QuerySet } from '../query/queryset.ts';
import type { Problem } from './scan-input.ts';
import { invalidInput } from './error-details.ts';
import { pointerStep } from '../json-pointer.ts';

/** A field of a body that refers to a record of another entity. */
export interface Reference {
  readonly name: string;
  readonly target: EntityMetadata;
  /** The field of the target that the value is compared with: its primary key, or another unique one. */
  readonly key: string;
  /** The key that the property holds, where it holds a key instead of the related entity (`mapToPk`). */
  readonly held: string | undefined;
}

/**
 * Puts the related entities in the place of what the client sent for them: one query for each reference that is there.
 * The filters of the related entity hold, so that nobody refers to a record that they could not find.
 *
 * @throws InvalidUsage with a detail for every reference to a record that is not there
 */
export async function resolveReferences(
  em: EntityManager,
  data: Readonly<Record<string, unknown>>,
  references: readonly Reference[],
): Promise<Record<string, unknown>> {
  const resolved: Record<string, unknown> = { ...data };
  const problems: Problem[] = [];
  for (const reference of references) {
    const value = data[reference.name];
    if (value === undefined || value === null) continue;
    // One after the other: inside a transaction there is but one connection.
    const found = await find(em, reference, value);
    if (found === undefined) problems.push({ path: pointerStep(reference.name), message: unknownReference(reference) });
    else resolved[reference.name] = reference.held === undefined ? found : found[reference.held];
  }
  if (problems.length > 0) throw invalidInput('body', problems);
  return resolved;
}

function find(
  em: EntityManager,
  { target, key }: Reference,
  value: unknown,
): Promise<Record<string, unknown> | undefined> {
  return QuerySet.of(em, target.class as EntityName<Record<string, unknown>>)
    .where(compare(fieldPath(target, key, '.'), 'exact', value))
    .entity();
}

function unknownReference({ target, key }: Reference): string {
  return `must be the ${key} of an existing ${target.className}`;
}
