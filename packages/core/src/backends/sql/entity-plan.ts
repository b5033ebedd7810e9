import type { Configuration, EntityManager, EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors.ts';
import { ownsColumn } from '../../fields/field-path.ts';
import type { Dialect } from './dialects/dialect.ts';
import { dialectOf } from './dialects/dialect-of.ts';
import { StatementCache } from './statement-cache.ts';

/** What is known of the queries of one entity in one schema of one ORM, whatever they ask. */
export interface EntityPlan {
  readonly meta: EntityMetadata;
  readonly dialect: Dialect;
  /** The schema of the entities that name none. */
  readonly schema: string | undefined;
  /** The relations that hide a record of this entity along with the related one that its own filters hide. */
  readonly hiding: readonly EntityProperty[];
  /** Whether the database itself sees to it that foreign keys lead somewhere. */
  readonly hasConstraints: boolean;
  readonly statements: StatementCache;
}

const known = new WeakMap<Configuration, WeakMap<EntityMetadata, Map<string, EntityPlan>>>();

/** @throws ImproperlyConfigured for a database or an entity that query sets cannot read */
export function entityPlan(em: EntityManager, meta: EntityMetadata): EntityPlan {
  let plans = known.get(em.config);
  if (plans === undefined) known.set(em.config, (plans = new WeakMap<EntityMetadata, Map<string, EntityPlan>>()));
  let schemas = plans.get(meta);
  if (schemas === undefined) plans.set(meta, (schemas = new Map<string, EntityPlan>()));
  const schema = em.schema ?? em.config.getSchema();
  let plan = schemas.get(schema ?? '');
  if (plan === undefined) schemas.set(schema ?? '', (plan = makePlan(em, meta, schema)));
  return plan;
}

function makePlan(em: EntityManager, meta: EntityMetadata, schema: string | undefined): EntityPlan {
  const dialect = dialectOf(em.getPlatform());
  const problem = problemOf(meta);
  if (problem !== undefined) {
    throw new ImproperlyConfigured(`${meta.className} cannot be read by a query set: ${problem}`);
  }
  return {
    meta,
    dialect,
    schema,
    hiding: meta.relations.filter((property) => ownsColumn(property) && mayHide(em, property)),
    hasConstraints: em.config.get('schemaGenerator').createForeignKeyConstraints ?? true,
    statements: new StatementCache(),
  };
}

function mayHide(em: EntityManager, { nullable, targetMeta }: EntityProperty): boolean {
  if (nullable !== true) return true;
  const filters = [...Object.values(targetMeta?.filters ?? {}), ...Object.values(em.config.get('filters') ?? {})];
  return filters.some((filter: { readonly strict?: boolean }) => filter.strict === true);
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
  const { dialect } = plan;
  const schema = meta.schema !== undefined && meta.schema !== '*' ? meta.schema : plan.schema;
  const table = dialect.quote(meta.tableName);
  return schema === undefined || schema === em.getPlatform().getDefaultSchemaName()
    ? table
    : `${dialect.quote(schema)}.${table}`;
}

/**
 * What tells an entity's records from those of others in the same table (single-table inheritance), as text: the values
 * are the program's own. Undefined where there is nothing to tell.
 */
export function discriminatorSql(
  plan: EntityPlan,
  em: EntityManager,
  meta: EntityMetadata,
  alias: string,
): string | undefined {
  const { root } = meta;
  if (root.inheritanceType !== 'sti' || meta.discriminatorValue === undefined) return undefined;
  const { discriminatorMap = {}, discriminatorColumn } = root;
  const members = Object.values(discriminatorMap).map((entity) => em.getMetadata().get(entity));
  const values = members
    .filter((member) => member === meta || isDescendant(em, member, meta))
    .map(({ discriminatorValue }) => discriminatorValue)
    .filter((value) => value !== undefined);
  const property = root.properties[discriminatorColumn as string] as EntityProperty | undefined;
  const column = `${alias}.${plan.dialect.quote(property?.fieldNames[0] ?? String(discriminatorColumn))}`;
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
