import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { inverseSide } from '../inverse-side.ts';
import { quoted } from './dialects/dialect.ts';
import { nextAlias, type Scope } from './scope.ts';

/** The tie of the records of a relation to many to their owner: their own foreign key, or a table between. */
export interface Tie {
  /** The table between, with a comma behind it; empty if there is none. */
  readonly from: string;
  /** The condition that ties the records to the table between; undefined if there is none. */
  readonly on: string | undefined;
  /** The columns that hold the owner's key. */
  readonly columns: readonly string[];
  /** The owner's columns that they repeat. */
  readonly ownerColumns: readonly string[];
}

/** @throws ImproperlyConfigured for a polymorphic relation */
export function tieSql(inner: Scope, step: EntityProperty): Tie {
  const { context, meta } = inner;
  const inverse = inverseSide(step);
  if (step.pivotEntity === undefined) {
    const { fieldNames, referencedColumnNames } = inverse as EntityProperty;
    // By fieldNames, as a join does.
    return {
      from: '',
      on: undefined,
      columns: columnsOf(inner.alias, fieldNames),
      ownerColumns: referencedColumnNames,
    };
  }
  const pivot = context.em.getMetadata().get(step.pivotEntity);
  const alias = nextAlias(context);
  return {
    from: `${inner.table(pivot)} ${alias}, `,
    on: inner.equal(inner.alias, primaryColumns(meta), alias, step.inverseJoinColumns),
    columns: columnsOf(alias, step.joinColumns),
    ownerColumns: step.referencedColumnNames,
  };
}

function columnsOf(alias: string, names: readonly string[]): string[] {
  return names.map((name) => `${alias}.${quoted(name)}`);
}

function primaryColumns(meta: EntityMetadata): string[] {
  return meta.getPrimaryProps().flatMap(({ fieldNames }) => fieldNames);
}
