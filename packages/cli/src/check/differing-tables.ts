import type { EntityMetadata, MikroORM } from '@mikro-orm/core';
import type { CheckedApplication } from './checked-application.ts';
import type { Finding } from './finding.ts';

/** Finds the entities whose table is missing, or differs from what the entity declares. */
export async function findDifferingTables({ instances }: CheckedApplication): Promise<Finding[]> {
  const orms = [...new Set([...instances].map(({ orm }) => orm))];
  const plans = [...instances].flatMap(({ operations }) => operations);
  const kept = new Set(plans.flatMap(({ list }) => list?.target.search?.keeps ?? []));
  return (await Promise.all(orms.map((orm) => differencesOf(orm, kept)))).flat();
}

/** @param kept names of search indexes, which entities do not declare */
async function differencesOf(orm: MikroORM, kept: ReadonlySet<string>): Promise<Finding[]> {
  const tables = new Map([...orm.getMetadata().getAll().values()].map((meta) => [meta.tableName, meta]));
  if (!orm.em.getPlatform().usesPivotTable()) return missingCollections(orm, [...tables.values()]);
  const sql = await orm.schema.getUpdateSchemaSQL({ wrap: false });
  const statements = sql.split(/;\s*$/m).map((statement) => statement.trim().replaceAll(/\s+/g, ' '));
  const byTable = Map.groupBy(
    statements.filter((statement) => statement !== '' && !drops(statement, kept)),
    (statement) => tableOf(statement, tables),
  );
  return [...byTable].map(([table, changes]) => {
    const className = tables.get(table)?.className ?? table;
    const isMissing = changes.some((statement) => /^create table/i.test(statement));
    const message = isMissing ? `has no table ${table}` : `differs from its table: ${changes.join('; ')}`;
    const isUndeclared = changes.every((statement) => UNDECLARED.test(statement));
    return { ...finding(className, message), ...(isUndeclared && { change: DECLARE }) };
  });
}

/** A statement that drops an index or a constraint, which was probably made by SQL. */
const UNDECLARED = /^(?:drop index|alter table \S+ drop constraint) \S+$/i;

const DECLARE = 'declare it in "indexes" or "checks" of the entity, or orm.schema.update() drops it';

/** Tells if the last thing that a statement drops is in the set. */
function drops(statement: string, names: ReadonlySet<string>): boolean {
  const [, dropped = ''] = /\bdrop\b(?:(?!\bdrop\b).)*?["`](\w+)["`][^"`]*$/i.exec(statement) ?? [];
  return names.has(dropped);
}

/** Finds the table that a statement changes; for a table without an entity, returns the beginning of the statement. */
function tableOf(statement: string, tables: ReadonlyMap<string, EntityMetadata>): string {
  const names = statement.match(/\w+/g) ?? [];
  return names.find((name) => tables.has(name)) ?? statement.slice(0, 60);
}

interface MongoConnection {
  getDb(): { listCollections(): { toArray(): Promise<readonly { readonly name: string }[]> } };
}

/** MongoDB creates missing collections itself, but not their indexes. */
async function missingCollections(orm: MikroORM, metas: readonly EntityMetadata[]): Promise<Finding[]> {
  const connection = orm.em.getDriver().getConnection() as unknown as MongoConnection;
  const there = new Set((await connection.getDb().listCollections().toArray()).map(({ name }) => name));
  return metas
    .filter(({ collection, embeddable, abstract }) => !embeddable && !abstract && !there.has(collection))
    .map(({ className, collection }) => finding(className, `has no collection ${collection}, and none of its indexes`));
}

function finding(className: string, message: string): Finding {
  return {
    code: 'table-differs',
    message: `${className} ${message}`,
    change: 'await orm.schema.update(); or a migration',
    declaredBy: { className, word: className },
  };
}
