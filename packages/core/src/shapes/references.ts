import type { EntityManager, EntityMetadata, EntityName } from '@mikro-orm/core';
import type { Awaitable } from '../awaitable.ts';
import { fieldPath } from '../fields/field-path.ts';
import { compare } from '../language/compare.ts';
import { always, type Condition } from '../language/condition.ts';
import { QuerySet } from '../query/queryset.ts';
import type { Problem } from '../schema/scan-input.ts';
import { invalidInput } from '../schema/error-details.ts';
import { pointerStep } from '../json.ts';

/** A field of a body that refers to a record of another entity. */
export interface Reference {
  readonly name: string;
  readonly target: EntityMetadata;
  /** The field of the target that the value is compared with: its primary key, or another unique one. */
  readonly key: string;
  /** The key that the property holds; undefined if it holds the related entity, as it does without `mapToPk`. */
  readonly held: string | undefined;
}

/** The records that a request may refer to. */
export interface ReferenceGrant {
  readonly denied: boolean;
  /** Undefined if there is none but the filters of the entity. */
  readonly scope: Condition | undefined;
  allows(record: object): Awaitable<boolean>;
}

/** Tells which records a reference may lead to; undefined if it may lead to any. */
export type GrantOfReference = (reference: Reference) => Awaitable<ReferenceGrant | undefined>;

/**
 * Puts the related entities in the place of what the client sent for them: one query for each reference that is there.
 * The filters of the related entity and the grant hold, so that nobody refers to a record that they could not find: it is
 * answered like one that is not there.
 *
 * @throws InvalidUsage with a detail for every reference to a record that is not there
 */
export async function resolveReferences(
  em: EntityManager,
  data: object,
  references: readonly Reference[],
  grantOf?: GrantOfReference,
): Promise<object> {
  const resolved: Record<string, unknown> = { ...data };
  const problems: Problem[] = [];
  for (const reference of references) {
    const value = resolved[reference.name];
    if (value === undefined || value === null) continue;
    // One after the other: inside a transaction there is but one connection.
    const found = await find(em, reference, value, await grantOf?.(reference));
    const { name, target, key, held } = reference;
    if (found !== undefined) {
      resolved[name] = held === undefined ? found : found[held];
    } else {
      problems.push({ path: pointerStep(name), message: `must be the ${key} of an existing ${target.className}` });
    }
  }
  if (problems.length > 0) throw invalidInput('body', problems);
  return resolved;
}

async function find(
  em: EntityManager,
  { target, key }: Reference,
  value: unknown,
  grant: ReferenceGrant | undefined,
): Promise<Record<string, unknown> | undefined> {
  if (grant?.denied === true) return undefined;
  const found = await QuerySet.of(em, target.class as EntityName<Record<string, unknown>>)
    .where(compare(fieldPath(target, key, '.'), 'exact', value))
    .where(grant?.scope ?? always)
    .entity();
  if (found === undefined || grant === undefined) return found;
  return (await grant.allows(found)) ? found : undefined;
}
