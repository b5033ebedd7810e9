import { foldedLetters } from '../../../query/language/fold-case.ts';
import type { Lookup } from '../../../query/language/lookup.ts';
import type { SqliteDatabase } from '../../../mikro/sqlite-database.ts';
import { COLUMN, type Comparison, VALUE } from './comparison.ts';
import type { Reader } from './reader.ts';
import { compareText, SqliteDialect, textTemplates } from './sqlite-dialect.ts';
import { preparedBy } from './sqlite-reader.ts';

/**
 * SQLite through libSQL's package, which cannot add functions to the database. So case is folded in SQL, and no
 * statement has a time limit.
 */
export class LibSqlDialect extends SqliteDialect {
  override readonly guard = undefined;
  protected override readonly makeReader = libSqlReader;

  protected override compareUnicode(lookup: Lookup, folded: string): Comparison {
    const { template, values } = compareText(FOLDED, lookup, folded);
    const outsideAscii = foldedLetters(folded).filter(([letter]) => letter > '\u007f');
    return { template, values: [JSON.stringify(outsideAscii), ...values] };
  }
}

/**
 * The column, folded as far as the compared text needs. `lower` folds ASCII. The first value lists the other letters to
 * replace.
 */
const FOLDED = textTemplates(`(
  with recursive folding(step, text, letters) as (
    select 0, lower(${COLUMN}), ${VALUE}
    union all
    select step + 1, replace(text, letters ->> ('$[' || step || '][0]'), letters ->> ('$[' || step || '][1]')), letters
    from folding where step < json_array_length(letters)
  )
  select text from folding where step = json_array_length(letters)
)`);

/**
 * libSQL's package leaves a statement open after `get`, which does not read it to its end, or if the database was
 * locked. While such a statement writes, no transaction can commit until garbage collection removes it. So a writing
 * statement first takes the right to write, with SQL that is not prepared.
 */
function libSqlReader(database: SqliteDatabase): Reader {
  const prepared = preparedBy(database);
  return {
    rows(statement, values) {
      // A list, because a single object would be read as named parameters.
      const read = (): unknown[][] => prepared(statement).all(values);
      return database.inTransaction || !WRITES.test(statement.sql) ? read() : writing(database, read);
    },
  };
}

const WRITES = /^(?:insert|update|delete) /;

function writing(database: SqliteDatabase, work: () => unknown[][]): unknown[][] {
  database.exec('begin immediate');
  try {
    const rows = work();
    database.exec('commit');
    return rows;
  } catch (error) {
    // SQLite itself may have ended the transaction.
    if (database.inTransaction) database.exec('rollback');
    throw error;
  }
}
