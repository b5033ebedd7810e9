import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { type FieldPath, findFieldPath } from '../../fields/field-path.ts';
import { isToOne } from '../../fields/property.ts';
import { constrainedField } from './constrained-fields.ts';

/** The columns of a unique constraint. */
export type UniqueKey = readonly FieldPath[];

const known = new WeakMap<EntityMetadata, readonly UniqueKey[]>();

/**
 * Lists the unique constraints that an entity declares, without its primary key. A constraint on an expression, or on a
 * column that is not loaded with its record, is left out.
 */
export function uniqueKeys(meta: EntityMetadata): readonly UniqueKey[] {
  let keys = known.get(meta);
  if (keys === undefined) known.set(meta, (keys = findUniqueKeys(meta)));
  return keys;
}

function findUniqueKeys(meta: EntityMetadata): UniqueKey[] {
  const alone = meta.props.filter(({ unique, primary }) => unique !== undefined && unique !== false && !primary);
  const together = [meta, meta.root].flatMap(({ uniques }) =>
    uniques.flatMap(({ properties }) => (properties === undefined ? [] : [[properties].flat().map(String)])),
  );
  const keys = new Map<string, UniqueKey>();
  for (const names of [...alone.map(({ name }) => [name]), ...together]) {
    const paths = names.map((name) => pathOf(meta, name)).filter((path) => path !== undefined);
    if (paths.length === names.length) keys.set(paths.map(({ key }) => key).join(' '), paths);
  }
  return [...keys.values()];
}

function pathOf(meta: EntityMetadata, name: string): FieldPath | undefined {
  const property = meta.properties[name as never] as EntityProperty | undefined;
  const path = findFieldPath(
    meta,
    property === undefined ? name : constrainedField(meta, property).names.join('.'),
    '.',
  );
  if (typeof path === 'string' || path.steps.length > 0) return undefined;
  const { lazy = false, ref = false } = path.property;
  return lazy || (ref && !isToOne(path.property)) ? undefined : path;
}
