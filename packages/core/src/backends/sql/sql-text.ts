import { COLUMN, type Comparison, VALUE } from './dialects/comparison.ts';
import type { Dialect } from './dialects/dialect.ts';
import type { Bound, Statement } from './dialects/reader.ts';

/** The properties of a statement besides its text. */
type StatementKind = Pick<Statement, 'isShapedByClient'> & Partial<Pick<Statement, 'one'>>;

/** SQL under construction, with VALUE for each of its values, in order. */
export class SqlText {
  sql = '';
  readonly values: unknown[] = [];

  /** Adds a text with the values that it binds. */
  add(sql: string, values?: readonly unknown[]): this {
    this.sql += sql;
    if (values !== undefined) for (const value of values) this.values.push(value);
    return this;
  }

  /** Adds a separately written text. It was written separately because its beginning depends on its end. */
  append({ sql, values }: SqlText): this {
    return this.add(sql, values);
  }

  /** Adds a piece about a column. The column's own values are added wherever the column occurs. */
  addAbout(column: SqlText, { template, values }: Comparison): this {
    if (column.values.length === 0) return this.add(template.split(COLUMN).join(column.sql), values);
    let next = 0;
    for (const piece of template.split(MARKS)) {
      if (piece === COLUMN) this.append(column);
      else if (piece === VALUE) this.add(VALUE, [values[next++]]);
      else this.add(piece);
    }
    return this;
  }

  /** Wraps the text in another text, `lower(…)`. */
  within(write: (sql: string) => string): SqlText {
    if (this.values.length === 0) return new SqlText().add(write(this.sql));
    return new SqlText().addAbout(this, { template: write(COLUMN), values: [] });
  }

  /** Makes the statement from the complete text, and numbers its values. */
  bound({ placeholder }: Dialect, { isShapedByClient, one = false }: StatementKind): Bound {
    let n = 0;
    const sql =
      typeof placeholder === 'string'
        ? this.sql.replaceAll(VALUE, placeholder)
        : this.sql.replaceAll(VALUE, () => placeholder(++n));
    return { statement: { sql, one, isShapedByClient }, values: this.values };
  }
}

/** Splits a template at its placeholders. */
export const MARKS = new RegExp(`([${COLUMN}${VALUE}])`);

/**
 * Writes pieces as a balanced tree. SQLite would nest a flat chain of a thousand conditions a thousand levels deep,
 * which is too deep.
 */
export function writeChain<Piece>(
  out: SqlText,
  pieces: readonly Piece[],
  operator: 'and' | 'or',
  write: (piece: Piece) => void,
): void {
  if (pieces.length > MAX_CHAIN) {
    const middle = Math.ceil(pieces.length / 2);
    out.add('(');
    writeChain(out, pieces.slice(0, middle), operator, write);
    out.add(`) ${operator} (`);
    writeChain(out, pieces.slice(middle), operator, write);
    out.add(')');
    return;
  }
  for (let index = 0; index < pieces.length; index++) {
    if (index > 0) out.add(` ${operator} `);
    write(pieces[index] as Piece);
  }
}

const MAX_CHAIN = 50;
