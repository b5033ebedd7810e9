import type { Lookup } from '../../../language/lookup.ts';

/** Stands for the column in a template. */
export const COLUMN = '\u0001';
/** Stands for a bound value in a template, and in a statement that is still being put together. */
export const VALUE = '\u0002';

/** A piece of SQL about one column whose text does not depend on the values. */
export interface Comparison {
  /** SQL with COLUMN for the column and VALUE for each value, in order. */
  readonly template: string;
  readonly values: readonly unknown[];
}

/** Longer ones cost more to match than they save; SQLite refuses from 50,000 bytes. */
const MAX_LENGTH = 1000;

/** The pattern of a text that stands for itself, `%` and `_` in it too; its escape character is a backslash. */
export function likePattern(lookup: Lookup, text: string): string {
  const before = lookup.endsWith('exact') || lookup.endsWith('startswith') ? '' : '%';
  const after = lookup.endsWith('exact') || lookup.endsWith('endswith') ? '' : '%';
  return before + escaped(text) + after;
}

/**
 * The pattern by which a database that folds ASCII alone finds every text that a case-insensitive lookup of a folded text
 * is true of: databases are several times as fast at that as at Unicode. Undefined if there is none that helps.
 *
 * A character that folds to a letter of ASCII is ASCII itself, but for two: the Kelvin sign, a `k`, and the
 * dotted capital I, of which an `i` is the beginning. Any one character stands for these two letters, and any text for
 * what is not ASCII, so that the heaviest `piece` of ASCII decides. One piece alone: a pattern of many would have a
 * database try them in all places.
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

/** True of a text of ASCII that can stand in a pattern, which ends at a NUL. */
function isPlain(text: string): boolean {
  // eslint-disable-next-line no-control-regex
  return /^[\u0001-\u007f]*$/.test(text);
}

/** The ways in which a dialect compares a column with a folded text. */
interface FoldedComparisons {
  /** The column, folded by ASCII, with a pattern. */
  readonly like: (pattern: string) => Comparison;
  /** The column, folded by ASCII, with a text, if an index serves that and no pattern. Default: `like`. */
  readonly equals?: string;
  readonly byUnicode: () => Comparison;
}

/**
 * Asks by folding ASCII first, and by Unicode's rules only where that does not decide: of what a wide pattern lets
 * through, and a text of ASCII does not find by itself.
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

/** The number of characters of a piece that stand for themselves. */
function weight(piece: string): number {
  return piece.replaceAll(/[ki]/g, '').length;
}

/** The place of the piece in the texts that the lookup finds; one that begins and ends a longer text stands twice. */
function placeOf(lookup: Lookup, folded: string, piece: string): Lookup {
  if (piece === folded) return lookup;
  const isWhole = lookup === 'iexact';
  if (folded.startsWith(piece) && (isWhole || lookup === 'istartswith')) return 'istartswith';
  return folded.endsWith(piece) && (isWhole || lookup === 'iendswith') ? 'iendswith' : 'icontains';
}

const SPECIAL = /[\\%_]/;

function escaped(text: string): string {
  return SPECIAL.test(text) ? text.replaceAll(/[\\%_]/g, String.raw`\$&`) : text;
}
