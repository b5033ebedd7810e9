/** A database of the benchmark, made and filled for one run, and removed after it. */
export type DatabaseKind = 'sqlite' | 'postgresql';

export interface BenchDatabase {
  readonly kind: DatabaseKind;
  /** A path (SQLite) or a URL (PostgreSQL). */
  readonly location: string;
  /** The server's or the library's version. */
  readonly version: string;
  /** Empties the table that creates go to, and starts its ids from 1 again. */
  clearDrafts(): Promise<void>;
  remove(): Promise<void>;
}

export interface TableSizes {
  readonly products: number;
  readonly accounts: number;
  /** Each has CHILDREN lines and CHILDREN of the labels. */
  readonly baskets: number;
}

/** Rows in one statement of the seed. */
export const SEED_BATCH = 5_000;

export const PASSWORD_OF_NOBODY = '$2b$12$................................................................';

export const DATABASE_TITLES: Readonly<Record<DatabaseKind, string>> = { sqlite: 'SQLite', postgresql: 'PostgreSQL' };

/** `SQLite, 1,000 rows` */
export function tableTitle(kind: DatabaseKind, rows: number): string {
  return `${DATABASE_TITLES[kind]}, ${rows.toLocaleString('en-US')} rows`;
}
