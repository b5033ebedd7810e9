/** The table of an entity. */
export interface Table {
  /** Undefined if the database has no schemas. */
  readonly schema: string | undefined;
  readonly name: string;
  /** The quoted name, as in statements. */
  readonly sql: string;
}

/** The tables of a list that a violation is about. */
export interface ViolatedTables {
  /** The positions of the tables in the list. */
  readonly places: ReadonlySet<number>;
  /** A text that contains the names of the columns, quoted or not. */
  readonly columns: string;
}

/** Returns the positions of the tables for which a test is true. */
export function placesOf(tables: readonly Table[], test: (table: Table) => boolean): ReadonlySet<number> {
  return new Set(tables.flatMap((table, index) => (test(table) ? [index] : [])));
}
