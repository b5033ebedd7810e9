import type { EntityManager, EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors.ts';
import { type Dialect, quoted } from './dialects/dialect.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import { QueryMemo } from '../query-memo.ts';
import type { Bound, Statement } from './dialects/reader.ts';

/** The facts that all queries of one entity in one schema of one ORM share, and the selects that come again. */
export interface EntityPlan {
  readonly meta: EntityMetadata;
  readonly dialect: Dialect;
  /** The schema of the entities that name none. */
  readonly schema: string | undefined;
  /** True if the database itself sees to it that foreign keys lead somewhere. */
  readonly hasConstraints: boolean;
  /** The selects of the queries that come again, as `bindSelect` has written them. */
  readonly selects: QueryMemo<Bound[]>;
  /** The last inserts that were written, by the columns that they return. */
  readonly inserts: WeakMap<readonly FieldPath[], KnownInsert[]>;
}

/** An insert that was written, and the columns that it stores. */
export interface KnownInsert {
  readonly stored: readonly FieldPath[];
  readonly statement: Statement;
}

export function makeEntityPlan(
  em: EntityManager,
  dialect: Dialect,
  meta: EntityMetadata,
  schema: string | undefined,
): EntityPlan {
  const hasConstraints = em.config.get('schemaGenerator').createForeignKeyConstraints ?? true;
  return { meta, dialect, schema, hasConstraints, selects: new QueryMemo(), inserts: new WeakMap() };
}

/** @throws ImproperlyConfigured for an entity that is not one table with one key */
export function checkEntity(meta: EntityMetadata): void {
  const problem = problemOf(meta);
  if (problem !== undefined) throw new ImproperlyConfigured(`${meta.className} is not supported: ${problem}`);
}

function problemOf(meta: EntityMetadata): string | undefined {
  if (meta.embeddable) return 'it is an embeddable, not an entity';
  if (meta.virtual || meta.expression !== undefined) return 'it is a virtual entity, which has no table';
  if (meta.compositePK || meta.primaryKeys.length !== 1) return 'its primary key is not one column';
  if (meta.root.inheritanceType === 'tpt') return 'it is spread over several tables (table-per-type inheritance)';
  return undefined;
}

/** The table of an entity, quoted; as MikroORM names it. */
export function tableSql(plan: EntityPlan, em: EntityManager, meta: EntityMetadata): string {
  const schema = meta.schema !== undefined && meta.schema !== '*' ? meta.schema : plan.schema;
  const table = quoted(meta.tableName);
  return schema === undefined || schema === em.getPlatform().getDefaultSchemaName()
    ? table
    : `${quoted(schema)}.${table}`;
}

/**
 * Tells an entity's records from those of others in the same table (single-table inheritance), as text: the values are
 * the program's own. Undefined if there are no others.
 */
export function discriminatorSql(em: EntityManager, meta: EntityMetadata, alias: string): string | undefined {
  const { root } = meta;
  if (root.inheritanceType !== 'sti' || meta.discriminatorValue === undefined) return undefined;
  const { discriminatorMap = {}, discriminatorColumn } = root;
  const members = Object.values(discriminatorMap).map((entity) => em.getMetadata().get(entity));
  const values = members
    .filter((member) => member === meta || isDescendant(em, member, meta))
    .map(({ discriminatorValue }) => discriminatorValue)
    .filter((value) => value !== undefined);
  const property = root.properties[discriminatorColumn as string] as EntityProperty | undefined;
  const column = `${alias}.${quoted(property?.fieldNames[0] ?? String(discriminatorColumn))}`;
  return `${column} in (${values.map(literal).join(', ')})`;
}

function isDescendant(em: EntityManager, member: EntityMetadata, ancestor: EntityMetadata): boolean {
  let parent = member.extends;
  while (parent !== undefined) {
    const meta = em.getMetadata().find(parent);
    if (meta === ancestor) return true;
    parent = meta?.extends;
  }
  return false;
}

function literal(value: string | number): string {
  return typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`;
}
