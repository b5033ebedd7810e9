import type { EntityManager } from '@mikro-orm/core';
import type { NativeTerm } from '@viewset/core';
import type { Definition } from '../definition.ts';
import type { SearchTerms } from '../terms.ts';

/** The state of an index in the database. */
export interface IndexState {
  /**
   * `current`: the index exists with this definition. `absent`: there is no index. `outdated`: it exists with another
   * definition. `foreign`: something else uses its name or its place. `no table`: the table does not exist yet.
   */
  readonly kind: 'current' | 'absent' | 'outdated' | 'foreign' | 'no table';
  /** The conflict, for `foreign`. */
  readonly problem?: string;
}

/** How one kind of database does full-text search. */
export interface Form {
  /** The condition that a record matches the search. */
  readonly matches: NativeTerm;
  /** The rank of a record; higher is better. */
  readonly rank: NativeTerm;
  /** The values of `matches`. */
  values(terms: SearchTerms): readonly unknown[];
  /** The values of `rank`. */
  rankValues(terms: SearchTerms): readonly unknown[];
  /** The statements that make the index. If it is outdated, they drop the old one first. */
  statements(isOutdated: boolean): readonly string[];
  /** The names of the objects that the statements create. */
  readonly keeps: readonly string[];
  /** How two views of one entity can have different searches. */
  readonly another: string;
  /** @throws ImproperlyConfigured if the schema generator of the ORM would fail on the index, or drop parts of it */
  checkGenerator(em: EntityManager): void;
  /** Reads the state of the index. */
  inspect(em: EntityManager): Promise<IndexState>;
  /** Creates the index. */
  create(em: EntityManager, isOutdated: boolean): Promise<void>;
}

/** Makes the form of a definition. */
export type MakeForm = (definition: Definition) => Form;

/** Quotes a name for SQL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Quotes a text for SQL. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Runs SQL statements one after another. */
export async function runAll(em: EntityManager, statements: readonly string[]): Promise<void> {
  await em.fork().transactional(async (inner) => {
    const connection = inner.getConnection();
    for (const sql of statements) await connection.execute(sql, [], 'run', inner.getTransactionContext());
  });
}
