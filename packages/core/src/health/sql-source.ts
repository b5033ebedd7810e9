import { wrongOption } from '../options.ts';

/** A MikroORM. */
export interface OrmSource {
  readonly em: { getConnection(): object };
}

/** A source that can be asked for one row: a MikroORM, a pool or client of `pg`, a database of better-sqlite3. */
export type SqlSource =
  | OrmSource
  | { query(sql: string): Promise<unknown> }
  | { prepare(sql: string): { get(): unknown } };

const STATEMENT = 'select 1';

/** Returns a function that asks the server of a source, over its own connections, for one row. */
export function selectOne(owner: string, source: SqlSource): () => Promise<void> {
  const { em, query, prepare } = (source ?? {}) as Partial<OrmSource & { query: unknown; prepare: unknown }>;
  if (em !== undefined) {
    return async () => {
      const connection = em.getConnection() as { execute(sql: string): Promise<unknown> };
      await connection.execute(STATEMENT);
    };
  }
  if (typeof query === 'function') {
    return async () => void (await (source as { query(sql: string): Promise<unknown> }).query(STATEMENT));
  }
  if (typeof prepare === 'function') {
    return async () => void (source as { prepare(sql: string): { get(): unknown } }).prepare(STATEMENT).get();
  }
  throw wrongOption(owner, 'source', 'a MikroORM, or a pool or database of the driver', source);
}
