import type { Lookup } from '../../../query/language/lookup.ts';

/** The placeholder for the column in a template. */
export const COLUMN = '\u0001';
/** The placeholder for a bound value, in a template or an unfinished statement. */
export const VALUE = '\u0002';

/** A piece of SQL about one column. Its text does not depend on the values. */
export interface Comparison {
  /** SQL with COLUMN for the column and VALUE for each value, in order. */
  readonly template: string;
  readonly values: readonly unknown[];
}

/**
 * The longest text or piece to match by LIKE. Longer ones cost more than they save. SQLite rejects patterns from 50,000
 * bytes.
 */
const MAX_LENGTH = 1000;

/** Makes the pattern that matches a text literally, including `%` and `_`. Its escape character is a backslash. */
export function likePattern(lookup: Lookup, text: string): string {
  const before = lookup.endsWith('exact') || lookup.endsWith('startswith') ? '' : '%';
  const after = lookup.endsWith('exact') || lookup.endsWith('endswith') ? '' : '%';
  return before + escaped(text) + after;
}

/**
 * Makes a pattern for databases that fold only ASCII, which is several times as fast as folding Unicode. It matches at
 * least every text that a case-insensitive lookup of a folded text must find. Undefined if no pattern helps.
 *
 * Only two characters outside ASCII fold to ASCII letters: the Kelvin sign to `k`, and the dotted capital I to `i` and
 * a dot. So the pattern matches any character for these two letters, and any text for characters outside ASCII. It uses
 * only the heaviest ASCII `piece`, because with several pieces a database would try them at all positions.
 */
function widePattern(lookup: Lookup, piece: string, folded: string): string | undefined {
  if (weight(piece) === 0 || piece.length > MAX_LENGTH) return undefined;
  return likePattern(placeOf(lookup, folded, piece), piece).replaceAll(/[ki]/g, '_');
}

function heaviestPiece(folded: string): string {
  // eslint-disable-next-line no-control-regex
  const pieces = folded.match(/[\u0001-\u007f]+/g) ?? [];
  return pieces.reduce((heaviest, next) => (weight(next) > weight(heaviest) ? next : heaviest), '');
}

/** True for an ASCII text that a pattern can contain. A pattern ends at a NUL. */
function isPlain(text: string): boolean {
  // eslint-disable-next-line no-control-regex
  return /^[\u0001-\u007f]*$/.test(text);
}

/** How a dialect compares a column with a folded text. */
interface FoldedComparisons {
  /** Compares the column, folded by ASCII, with a pattern. */
  readonly like: (pattern: string) => Comparison;
  /** Compares the column, folded by ASCII, with a text, if an index supports that but no pattern. Default: `like`. */
  readonly equals?: string;
  readonly byUnicode: () => Comparison;
}

/**
 * Compares by folding ASCII first. It uses Unicode's rules only for texts that match the wide pattern, and that the
 * ASCII comparison does not find.
 */
export function compareAsciiFirst(lookup: Lookup, folded: string, by: FoldedComparisons): Comparison {
  const isAsciiOnly = isPlain(folded);
  const isDecided = isAsciiOnly && folded !== '' && folded.length <= MAX_LENGTH && weight(folded) === folded.length;
  if (isDecided) return compareAscii(lookup, folded, by);
  const wide = widePattern(lookup, isAsciiOnly ? folded : heaviestPiece(folded), folded);
  if (wide === undefined) return by.byUnicode();
  const rest = isAsciiOnly ? both('or', compareAscii(lookup, folded, by), by.byUnicode()) : by.byUnicode();
  return both('and', by.like(wide), rest);
}

function compareAscii(lookup: Lookup, folded: string, { like, equals }: FoldedComparisons): Comparison {
  return lookup === 'iexact' && equals !== undefined
    ? { template: equals, values: [folded] }
    : like(likePattern(lookup, folded));
}

function both(operator: 'and' | 'or', first: Comparison, second: Comparison): Comparison {
  const template = `(${first.template} ${operator} ${second.template})`;
  return { template, values: [...first.values, ...second.values] };
}

/** Counts the characters of a piece that match only themselves. */
function weight(piece: string): number {
  return piece.replaceAll(/[ki]/g, '').length;
}

/**
 * Returns where the piece occurs in the matching texts. If a piece is both the start and the end of a longer text, the
 * start counts.
 */
function placeOf(lookup: Lookup, folded: string, piece: string): Lookup {
  if (piece === folded) return lookup;
  const isExact = lookup === 'iexact';
  if (folded.startsWith(piece) && (isExact || lookup === 'istartswith')) return 'istartswith';
  return folded.endsWith(piece) && (isExact || lookup === 'iendswith') ? 'iendswith' : 'icontains';
}

const SPECIAL = /[\\%_]/;

function escaped(text: string): string {
  return SPECIAL.test(text) ? text.replaceAll(/[\\%_]/g, String.raw`\$&`) : text;
}
