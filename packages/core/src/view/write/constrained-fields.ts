import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { namesColumn } from '../../backends/database-errors.ts';
import { shortDecimal } from '../../fields/decimal-text.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import { keyOfEntity } from '../../fields/primary-key.ts';
import { isInlineEmbeddable, isToOne } from '../../fields/property.ts';
import { isRecord } from '../../support/json.ts';

/** A property whose column a constraint names. */
export interface ConstrainedField {
  readonly property: EntityProperty;
  /** The names from the entity to the property: several for a part of an embeddable. */
  readonly names: readonly string[];
}

/** Lists the properties of an entity whose columns a constraint names. */
export function constrainedFields(meta: EntityMetadata, columns: string): readonly ConstrainedField[] {
  return meta.props
    .filter((property) => {
      // A part of an embeddable in a JSON column has no column of its own.
      const isColumn = property.persist !== false && !isInlineEmbeddable(property);
      return isColumn && (property.fieldNames as string[] | undefined)?.some((column) => isNamed(columns, column));
    })
    .map((property) => constrainedField(meta, property));
}

export function constrainedField(meta: EntityMetadata, property: EntityProperty): ConstrainedField {
  return { property, names: namesOf(meta, property) };
}

/** MongoDB names a part of an embeddable by its path, `home.city`. */
function isNamed(columns: string, column: string): boolean {
  return namesColumn(columns, column) || namesColumn(columns.replaceAll(/\.[^\s,]+/g, ''), column);
}

function namesOf({ properties }: EntityMetadata, { name, embedded }: EntityProperty): string[] {
  if (embedded === undefined) return [name];
  const [owner, part] = embedded;
  return [...namesOf({ properties } as EntityMetadata, properties[owner as never] as EntityProperty), part];
}

/** Returns the value of a field in the data of a record: null if its embeddable is null, undefined if it is absent. */
export function valueOf(data: Readonly<Record<string, unknown>>, { names }: ConstrainedField): unknown {
  let value: unknown = data;
  for (const name of names) {
    if (value === null) return null;
    if (!isRecord(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/** Returns a value in a form that `keyText` compares: the key of a relation, and a decimal in its shortest form. */
export function comparable(path: FieldPath, value: unknown): unknown {
  if (value === null || value === undefined || typeof value === 'symbol') return value;
  const key = isToOne(path.property) ? keyOfEntity({ [path.property.name]: value }, path) : value;
  if (key === undefined) return value;
  return path.type.kind === 'decimal' ? shortDecimal(key) : key;
}
