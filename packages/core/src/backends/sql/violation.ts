import {
  CheckConstraintViolationException,
  DriverException,
  ForeignKeyConstraintViolationException,
  UniqueConstraintViolationException,
} from '@mikro-orm/core';

/** What a database refused about the values of a statement. */
export interface Violation {
  /** `value`: a value that its column cannot hold. */
  readonly kind: 'unique' | 'foreign key' | 'check' | 'value';
  /** The constraint's name, or its columns. */
  readonly constraint: string | undefined;
  /** Undefined if the database does not say. */
  readonly table: string | undefined;
  /** The text that names the columns at fault, quoted or not. */
  readonly columns: string;
}

/** SQLSTATE classes of data exceptions (22), and of statements with too many or too large parts (54). */
const VALUE = /^(?:22|54)/;
/** SQLSTATE of `on delete restrict` since PostgreSQL 18, which MikroORM does not know yet. */
const RESTRICT = '23001';

/** Reads an error of MikroORM or its driver. Undefined if it is not about values. */
export function violationOf(error: unknown): Violation | undefined {
  if (!(error instanceof DriverException)) return undefined;
  const kind = kindOf(error);
  if (kind === undefined) return undefined;
  const { constraint, table, detail } = error as { constraint?: string; table?: string; detail?: string };
  // PostgreSQL: Key (owner_id, lower(name))=(7, tea) already exists. The words depend on its language, the form does not.
  const key = detail?.match(/\((.*?)\)=\(/)?.[1];
  if (table !== undefined || constraint !== undefined) return { kind, constraint, table, columns: key ?? '' };
  // SQLite: UNIQUE constraint failed: book.owner_id, book.name
  const named = error.message.match(/constraint failed: (.+)$/m)?.[1];
  const [, sqliteTable] = named?.match(/^([^.,]+)\./) ?? [];
  return { kind, constraint: named, table: sqliteTable, columns: named ?? '' };
}

function kindOf(error: DriverException): Violation['kind'] | undefined {
  if (error instanceof UniqueConstraintViolationException) return 'unique';
  if (error instanceof ForeignKeyConstraintViolationException || error.code === RESTRICT) return 'foreign key';
  if (error instanceof CheckConstraintViolationException) return 'check';
  return VALUE.test(String(error.code)) ? 'value' : undefined;
}
