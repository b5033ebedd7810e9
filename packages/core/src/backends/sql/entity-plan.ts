import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import { type Dialect, quoted } from './dialects/dialect.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import { primaryKey } from '../../fields/primary-key.ts';
import { discriminatorOf } from '../discriminator.ts';
import { KnownTexts } from './known-texts.ts';

/** The facts that all queries of one entity in one schema of one ORM share, and the statements that come again. */
export interface EntityPlan {
  readonly meta: EntityMetadata;
  readonly dialect: Dialect;
  /** The schema of the entities that name none. */
  readonly schema: string | undefined;
  /** True if the database itself sees to it that foreign keys lead somewhere. */
  readonly hasConstraints: boolean;
  /** The statements whose text comes again with other values. */
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
    // A view that is only read may have no key.
    get key() {
      return (key ??= [primaryKey(meta)]);
    },
  };
}

/** The table of an entity, quoted; as MikroORM names it. */
export function tableSql(plan: EntityPlan, em: EntityManager, meta: EntityMetadata): string {
  const schema = schemaOf(plan, em, meta);
  const table = quoted(meta.tableName);
  return schema === undefined || schema === defaultSchema(em) ? table : `${quoted(schema)}.${table}`;
}

/** The schema of an entity's table; undefined if it is the default one, and the entity does not name it. */
export function schemaOf(plan: EntityPlan, em: EntityManager, { schema }: EntityMetadata): string | undefined {
  if (schema !== undefined && schema !== '*') return schema;
  return plan.schema === defaultSchema(em) ? undefined : plan.schema;
}

function defaultSchema(em: EntityManager): string | undefined {
  return em.getPlatform().getDefaultSchemaName();
}

/** Tells an entity's records from those of others in the same table, as text: the values are the program's own. */
export function discriminatorSql(em: EntityManager, meta: EntityMetadata, alias: string): string | undefined {
  const discriminator = discriminatorOf(em, meta);
  if (discriminator === undefined) return undefined;
  return `${alias}.${quoted(discriminator.column)} in (${discriminator.values.map(literal).join(', ')})`;
}

function literal(value: string | number): string {
  return typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`;
}
