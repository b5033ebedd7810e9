import type { EntityManager } from '@mikro-orm/core';
import type { NativeTerm } from '@viewset/core';
import type { Definition } from '../definition.ts';
import type { SearchTerms } from '../terms.ts';

/** An index as it is found in the database. */
export interface IndexState {
  /**
   * `current`: it is there, for this definition. `absent`: there is none. `outdated`: there is one of another definition. `foreign`: something
   * else has its name or its place. `no table`: the table is not there yet.
   */
  readonly kind: 'current' | 'absent' | 'outdated' | 'foreign' | 'no table';
  /** What is in the way, for `foreign`. */
  readonly problem?: string;
}

/** Full-text search as one kind of database does it. */
export interface Form {
  /** True of the records that the values find. */
  readonly matches: NativeTerm;
  /** The rank of a record: the higher, the better. */
  readonly rank: NativeTerm;
  /** The values of `matches`. */
  values(terms: SearchTerms): readonly unknown[];
  /** The values of `rank`. */
  rankValues(terms: SearchTerms): readonly unknown[];
  /** The statements that make the index, which removes one of another definition first. */
  statements(isOutdated: boolean): readonly string[];
  /** The names of what the statements make. */
  readonly keeps: readonly string[];
  /** Tells how two views of an entity have searches that differ. */
  readonly another: string;
  /** @throws ImproperlyConfigured if the schema generator of the ORM would fail on the index, or drop parts of it */
  checkGenerator(em: EntityManager): void;
  /** Looks for the index. */
  inspect(em: EntityManager): Promise<IndexState>;
  /** Makes the index. */
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

/** Runs statements of SQL one after the other. */
export async function runAll(em: EntityManager, statements: readonly string[]): Promise<void> {
  await em.fork().transactional(async (inner) => {
    const connection = inner.getConnection();
    for (const sql of statements) await connection.execute(sql, [], 'run', inner.getTransactionContext());
  });
}
