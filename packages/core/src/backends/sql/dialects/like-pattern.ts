import type { Lookup } from '../../../language/lookup.ts';
import { isAscii } from './case-folding.ts';
import type { Comparison } from './dialect.ts';

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
 * is true of: databases are several times as fast at that as at Unicode. Undefined where there is none that helps.
 *
 * What a letter of ASCII is the folding of is ASCII itself, but for two characters: the Kelvin sign, a `k`, and the
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
  return isAscii(text) && !text.includes('\0');
}

/** How a dialect compares a column with a folded text. */
interface FoldedComparisons {
  /** The column, folded by ASCII, with a pattern. */
  readonly like: (pattern: string) => Comparison;
  /** The column, folded by ASCII, with a text; where an index serves that and no pattern. Default: `like`. */
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
  const template = joined(operator, first.template, second.template);
  return { template, values: [...first.values, ...second.values] };
}

const joints = { and: new Map<string, Map<string, string>>(), or: new Map<string, Map<string, string>>() };

/** The same string for the same templates, of which there are few: a text that is known is found the faster. */
function joined(operator: 'and' | 'or', first: string, second: string): string {
  const firsts = joints[operator];
  let seconds = firsts.get(first);
  if (seconds === undefined) firsts.set(first, (seconds = new Map<string, string>()));
  let template = seconds.get(second);
  if (template === undefined) seconds.set(second, (template = `(${first} ${operator} ${second})`));
  return template;
}

/** How many characters of a piece stand for themselves. */
function weight(piece: string): number {
  let wild = 0;
  for (let index = 0; index < piece.length; index++) {
    const code = piece.charCodeAt(index);
    if (code === K || code === I) wild += 1;
  }
  return piece.length - wild;
}

const K = 0x6b;
const I = 0x69;

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
