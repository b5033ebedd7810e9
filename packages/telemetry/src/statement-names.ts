import type { MikroORM } from '@mikro-orm/core';

/** The reported part of a statement: its kind and its table, but no values. */
export interface StatementName {
  /** `SELECT`, or `find` for MongoDB. */
  readonly operation: string;
  /** Undefined if the statement does not use an entity's table. */
  readonly collection: string | undefined;
}

const SQL = /^\s*(select|insert|update|delete|with|begin|commit|rollback|savepoint|release)\b/i;
const SQL_TABLE = /\b(?:from|into|update)\s+(?:["`]?\w+["`]?\.)?["`]?(\w+)["`]?/gi;
/** Commands as MikroORM and `@viewset/mongodb` write them. */
const MONGO = /^(?:db\.getCollection\('([^']+)'\)|db|([\w.-]+))\.(\w+)\(/;
const MONGO_OPERATIONS: ReadonlySet<string> = new Set([
  'find',
  'aggregate',
  'countDocuments',
  'estimatedDocumentCount',
  'distinct',
  'insertOne',
  'insertMany',
  'updateOne',
  'updateMany',
  'findOneAndUpdate',
  'replaceOne',
  'deleteOne',
  'deleteMany',
  'bulkWrite',
  'begin',
  'commit',
  'rollback',
]);

/**
 * Names statements by the tables of an ORM. Only names of known tables count, so a value in the text is never reported.
 */
export class StatementNames {
  readonly #tables: ReadonlySet<string>;

  constructor(orm: MikroORM) {
    this.#tables = new Set([...orm.getMetadata()].map(({ tableName, collection }) => collection ?? tableName));
  }

  of(text: string): StatementName {
    const sql = SQL.exec(text);
    if (sql !== null) return { operation: sql[1]!.toUpperCase(), collection: this.#tableIn(text) };
    const [, ofOrm, ofBackend, operation = ''] = MONGO.exec(text) ?? [];
    if (!MONGO_OPERATIONS.has(operation)) return { operation: 'OTHER', collection: undefined };
    return { operation, collection: this.#known(ofOrm ?? ofBackend) };
  }

  #tableIn(text: string): string | undefined {
    for (const [, name] of text.matchAll(SQL_TABLE)) {
      const table = this.#known(name);
      if (table !== undefined) return table;
    }
    return undefined;
  }

  #known(name: string | undefined): string | undefined {
    return name !== undefined && this.#tables.has(name) ? name : undefined;
  }
}

/** Returns OpenTelemetry's name for the database. */
export function databaseOf(orm: MikroORM): string {
  const needed = orm.em.getDriver().getDependencies();
  if (needed.includes('pg')) return 'postgresql';
  return needed.includes('mongodb') ? 'mongodb' : 'sqlite';
}
