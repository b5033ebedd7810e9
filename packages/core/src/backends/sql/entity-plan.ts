import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import { type Dialect, quoted } from './dialects/dialect.ts';
import type { Table } from './dialects/violated-table.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import { primaryKey } from '../../fields/primary-key.ts';
import { discriminatorOf } from '../discriminator.ts';
import { KnownTexts } from './known-texts.ts';

/** The data that all queries of an entity in one schema of one ORM share, and the statements that repeat. */
export interface EntityPlan {
  readonly meta: EntityMetadata;
  readonly dialect: Dialect;
  /** The schema of entities without their own schema. */
  readonly schema: string | undefined;
  /** True if the database enforces foreign keys. */
  readonly hasConstraints: boolean;
  /** The statements that repeat with other values. */
  readonly texts: KnownTexts;
  /** The column of the primary key. */
  readonly key: readonly FieldPath[];
}

export function makeEntityPlan(
  em: EntityManager,
  dialect: Dialect,
  meta: EntityMetadata,
  schema: string | undefined,
): EntityPlan {
  const hasConstraints = em.config.get('schemaGenerator').createForeignKeyConstraints ?? true;
  let key: readonly FieldPath[] | undefined;
  return {
    meta,
    dialect,
    schema,
    hasConstraints,
    texts: new KnownTexts(),
    // A read-only view may have no key.
    get key() {
      return (key ??= [primaryKey(meta)]);
    },
  };
}

/** Returns the quoted table of an entity, as MikroORM names it. */
export function tableSql(plan: EntityPlan, em: EntityManager, meta: EntityMetadata): string {
  const schema = schemaOf(plan, em, meta);
  const table = quoted(meta.tableName);
  return schema === undefined || schema === defaultSchema(em) ? table : `${quoted(schema)}.${table}`;
}

/** Returns the table of an entity, and its schema as far as it is known. */
export function tableOf(plan: EntityPlan, em: EntityManager, meta: EntityMetadata): Table {
  return { schema: schemaOf(plan, em, meta) ?? defaultSchema(em), name: meta.tableName, sql: tableSql(plan, em, meta) };
}

/** Returns the schema of an entity's table. Undefined if it is the default schema, and the entity does not name it. */
export function schemaOf(plan: EntityPlan, em: EntityManager, { schema }: EntityMetadata): string | undefined {
  if (schema !== undefined && schema !== '*') return schema;
  return plan.schema === defaultSchema(em) ? undefined : plan.schema;
}

function defaultSchema(em: EntityManager): string | undefined {
  return em.getPlatform().getDefaultSchemaName();
}

/**
 * Writes the condition that selects an entity's records in a shared table. It is plain text, because the values come
 * from the program.
 */
export function discriminatorSql(em: EntityManager, meta: EntityMetadata, alias: string): string | undefined {
  const discriminator = discriminatorOf(em, meta);
  if (discriminator === undefined) return undefined;
  // An abstract class that none extends has no records.
  if (discriminator.values.length === 0) return '1 = 0';
  return `${alias}.${quoted(discriminator.column)} in (${discriminator.values.map(literal).join(', ')})`;
}

function literal(value: string | number): string {
  return typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`;
}
