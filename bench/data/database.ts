/** A database of the benchmark, made and filled for one run, and removed after it. */
export const DATABASE_KINDS = ['sqlite', 'postgresql', 'mongodb'] as const;
export type DatabaseKind = (typeof DATABASE_KINDS)[number];

export interface BenchDatabase {
  readonly kind: DatabaseKind;
  /** A path (SQLite) or a URL. */
  readonly location: string;
  /** The server's or the library's version. */
  readonly version: string;
  /** Empties the table that creates go to, and starts its ids from 1 again. */
  clearDrafts(): Promise<void>;
  remove(): Promise<void>;
}

/** A server that databases are made on. */
export interface DatabaseServer {
  readonly url: string;
  stop(): Promise<void>;
}

export interface TableSizes {
  readonly products: number;
  readonly accounts: number;
  /** Each has CHILDREN lines and CHILDREN of the labels. */
  readonly baskets: number;
}

/** Rows in one statement of the seed. */
const SEED_BATCH = 5_000;

/** The ids of a table, as one statement of the seed takes them. */
export function* batches(count: number): Generator<number[]> {
  for (let first = 1; first <= count; first += SEED_BATCH) {
    yield Array.from({ length: Math.min(SEED_BATCH, count - first + 1) }, (_, index) => first + index);
  }
}

export const UNUSABLE_PASSWORD = '$2b$12$................................................................';

export const DATABASE_TITLES: Readonly<Record<DatabaseKind, string>> = {
  sqlite: 'SQLite',
  postgresql: 'PostgreSQL',
  mongodb: 'MongoDB',
};

/** `SQLite, 1,000 rows` */
export function tableTitle(kind: DatabaseKind, rows: number): string {
  return `${DATABASE_TITLES[kind]}, ${rows.toLocaleString('en-US')} rows`;
}
