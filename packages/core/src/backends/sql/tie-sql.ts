import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { inverseSide, type Tie, tieOf } from '../tie.ts';
import { quoted } from './dialects/dialect.ts';
import { equalSql, nextAlias, type SqlScope } from './scope.ts';
import { SqlText } from './sql-text.ts';

/** How the records of a to-many relation refer to their owner: by a foreign key, or by a pivot table. */
export interface SqlTie extends Tie {
  /** The pivot table. Undefined if there is none. */
  readonly between: string | undefined;
  /** The condition that joins the records to the pivot table. Undefined if there is none. */
  readonly on: string | undefined;
  /** The column of the pivot table with the order in which records were added. Undefined if there is none. */
  readonly place?: string | undefined;
}

/** @throws ImproperlyConfigured for a polymorphic relation */
export function tieSql(inner: SqlScope, step: EntityProperty): SqlTie {
  const { context, meta } = inner;
  if (step.pivotEntity === undefined) {
    const { columns, ownerColumns } = tieOf(step);
    return { between: undefined, on: undefined, columns: columnsOf(inner.alias, columns), ownerColumns };
  }
  inverseSide(step);
  const pivot = context.em.getMetadata().get(step.pivotEntity);
  const alias = nextAlias(context);
  const added: EntityProperty | undefined = pivot.properties[step.fixedOrderColumn as never];
  return {
    place: added === undefined ? undefined : columnsOf(alias, added.fieldNames.slice(0, 1))[0],
    between: `${inner.table(pivot)} ${alias}`,
    on: equalSql(inner.alias, primaryColumns(meta), alias, step.inverseJoinColumns),
    columns: columnsOf(alias, step.joinColumns),
    ownerColumns: step.referencedColumnNames,
  };
}

/** Writes the tables of a tie's records. */
export function tiedFrom({ between }: SqlTie, inner: SqlScope): SqlText {
  return new SqlText().add(between === undefined ? '' : `${between}, `).append(inner.from());
}

function columnsOf(alias: string, names: readonly string[]): string[] {
  return names.map((name) => `${alias}.${quoted(name)}`);
}

function primaryColumns(meta: EntityMetadata): string[] {
  return meta.getPrimaryProps().flatMap(({ fieldNames }) => fieldNames);
}
