import {
  isRaw,
  type EntityManager,
  type EntityMetadata,
  type EntityProperty,
  type FormulaTable,
} from '@mikro-orm/core';
import type { Dialect } from './dialects/dialect.ts';

/** The SQL of a formula property, given the columns and the table as MikroORM gives them; the columns are quoted. */
export function formulaSql(
  em: EntityManager,
  dialect: Dialect,
  meta: EntityMetadata,
  alias: string,
  property: EntityProperty,
): string {
  const columns: Record<string, string> = {};
  for (const { name, fieldNames } of Object.values<EntityProperty>(meta.properties)) {
    if (fieldNames?.[0] !== undefined) columns[name] = `${alias}.${dialect.quote(fieldNames[0])}`;
  }
  Object.defineProperty(columns, 'toString', { value: () => alias, enumerable: false });
  const schema = meta.schema === '*' ? undefined : meta.schema;
  const table: FormulaTable = {
    alias,
    name: meta.tableName,
    ...(schema !== undefined && { schema }),
    qualifiedName: schema === undefined ? meta.tableName : `${schema}.${meta.tableName}`,
    toString: () => alias,
  };
  const formula = property.formula as (columns: unknown, table: FormulaTable) => unknown;
  const sql = formula(columns, table);
  return `(${isRaw(sql) ? em.getPlatform().formatQuery(sql.sql, sql.params) : String(sql)})`;
}
