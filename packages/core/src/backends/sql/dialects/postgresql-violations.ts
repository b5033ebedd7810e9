import { type Awaitable, whenReady } from '../../../support/awaitable.ts';
import type { Violation } from '../../database-errors.ts';
import type { Reader } from './reader.ts';
import { placesOf, type Table, type ViolatedTables } from './violated-table.ts';

/**
 * PostgreSQL reports a violation for the table that holds the row. That is a partition, a table that inherits the
 * entity's, or the table beneath an updatable view. So this looks upwards from it, and asks which of the entities'
 * tables is above.
 *
 * The error omits its columns if row level security applies to the user. Then the catalog names those of the
 * constraint.
 */
const CATALOG = `with recursive violated(id) as (
  select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where n.nspname = $1 and c.relname = $2
), above(id) as (
  select id from violated
  union
  select next.id from above cross join lateral (
    select inhparent as id from pg_catalog.pg_inherits where inhrelid = above.id
    union all
    select r.ev_class from pg_catalog.pg_depend d join pg_catalog.pg_rewrite r on r.oid = d.objid
    where d.classid = 'pg_catalog.pg_rewrite'::regclass and d.refclassid = 'pg_catalog.pg_class'::regclass
      and d.refobjid = above.id
  ) next
), named as (
  select coalesce(
    (select string_agg(pg_catalog.pg_get_indexdef(i.indexrelid, n, true), ', ')
     from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid
       cross join generate_series(1, i.indnkeyatts) n
     where i.indrelid in (select id from violated) and c.relname = $3),
    (select string_agg(a.attname, ', ')
     from pg_catalog.pg_constraint k join pg_catalog.pg_attribute a
       on a.attrelid = k.conrelid and a.attnum = any(k.conkey)
     where k.conrelid in (select id from violated) and k.conname = $3)
  ) as columns
)
select t.place, named.columns from named left join unnest($4::text[]) with ordinality t(name, place)
  on pg_catalog.to_regclass(t.name) in (select id from above)`;

/** A trigger reports a constraint by `raise … using constraint = 'name'`. */
const UNKNOWN = `select name from unnest($1::text[]) with ordinality given(name, place)
where not exists (select from pg_catalog.pg_constraint where conname = name)
  and not exists (
    select from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid
    where i.indisunique and c.relname = name)
  and not exists (
    select from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where n.nspname not in ('pg_catalog', 'information_schema') and strpos(p.prosrc, quote_literal(name)) > 0)
order by place`;

/** The violations whose columns are named in a response. */
const NAMES_COLUMNS: ReadonlySet<Violation['kind']> = new Set(['unique', 'exclusion', 'foreign key']);

export function placePostgreSqlViolation(
  reader: Reader,
  violation: Violation,
  tables: readonly Table[],
): Awaitable<ViolatedTables> {
  const { kind, schema, table, constraint, columns } = violation;
  if (table === undefined) return { columns, places: placesOf(tables, () => true) };
  // MikroORM itself reports a key that two new records have, without a schema.
  const known = placesOf(tables, (each) => each.name === table && (schema === undefined || each.schema === schema));
  const isComplete = columns !== '' || !NAMES_COLUMNS.has(kind);
  if (known.size > 0 && isComplete) return { columns, places: known };
  const statement = { sql: CATALOG, one: false, isShapedByClient: false };
  const values = [schema, table, constraint, tables.map(({ sql }) => sql)];
  return whenReady(reader.rows(statement, values), (rows) => ({
    places: new Set(rows.flatMap(([place]) => (place === null ? [] : [Number(place) - 1]))),
    columns: columns === '' ? ((rows[0]?.[1] as string | null | undefined) ?? '') : columns,
  }));
}

export function unknownPostgreSqlConstraints(reader: Reader, names: readonly string[]): Awaitable<readonly string[]> {
  const statement = { sql: UNKNOWN, one: false, isShapedByClient: false };
  return whenReady(reader.rows(statement, [names]), (rows) => rows.map(([name]) => String(name)));
}
