import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { inverseSide, type Tie, tieOf } from '../tie.ts';
import { quoted } from './dialects/dialect.ts';
import { equalSql, nextAlias, type SqlScope } from './scope.ts';

/** The tie of the records of a relation to many to their owner: their own foreign key, or a table between. */
export interface SqlTie extends Tie {
  /** The table between, with a comma behind it; empty if there is none. */
  readonly from: string;
  /** The condition that ties the records to the table between; undefined if there is none. */
  readonly on: string | undefined;
}

/** @throws ImproperlyConfigured for a polymorphic relation */
export function tieSql(inner: SqlScope, step: EntityProperty): SqlTie {
  const { context, meta } = inner;
  if (step.pivotEntity === undefined) {
    const { columns, ownerColumns } = tieOf(step);
    return { from: '', on: undefined, columns: columnsOf(inner.alias, columns), ownerColumns };
  }
  inverseSide(step);
  const pivot = context.em.getMetadata().get(step.pivotEntity);
  const alias = nextAlias(context);
  return {
    from: `${inner.table(pivot)} ${alias}, `,
    on: equalSql(inner.alias, primaryColumns(meta), alias, step.inverseJoinColumns),
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
