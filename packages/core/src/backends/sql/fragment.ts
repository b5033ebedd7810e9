import { SAME_VALUE, VALUE, type Dialect } from './dialects/dialect.ts';

/** A piece of SQL with VALUE for each of its values, in order. */
export interface Fragment {
  readonly sql: string;
  readonly values: readonly unknown[];
}

export function fragment(sql: string, values: readonly unknown[] = []): Fragment {
  return { sql, values };
}

/** Strings pieces together, in the order of the text and so of the values. */
export function concat(pieces: readonly (Fragment | string)[]): Fragment {
  const values: unknown[] = [];
  let sql = '';
  for (const piece of pieces) {
    if (typeof piece === 'string') {
      sql += piece;
    } else {
      sql += piece.sql;
      values.push(...piece.values);
    }
  }
  return { sql, values };
}

/**
 * Joins conditions as a balanced tree. A flat chain of a thousand is a thousand deep to SQLite, which is too deep.
 */
export function joinBalanced(pieces: readonly Fragment[], operator: ' and ' | ' or '): Fragment {
  if (pieces.length <= MAX_CHAIN) {
    return concat(pieces.flatMap((piece, index) => (index === 0 ? [piece] : [operator, piece])));
  }
  const middle = Math.ceil(pieces.length / 2);
  const left = joinBalanced(pieces.slice(0, middle), operator);
  const right = joinBalanced(pieces.slice(middle), operator);
  return concat(['(', left, ')', operator, '(', right, ')']);
}

const MAX_CHAIN = 50;

/** Numbers the values, once the text is complete. */
export function numbered(dialect: Dialect, sql: string): string {
  let n = 0;
  let same = 0;
  return sql.replaceAll(PLACES, (place) => dialect.placeholder(place === VALUE ? ++n : ++same));
}

const PLACES = new RegExp(`[${VALUE}${SAME_VALUE}]`, 'g');
