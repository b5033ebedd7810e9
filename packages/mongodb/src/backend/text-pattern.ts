import type { Lookup } from '@viewset/core';
import { DOT, DOTTED_I, foldCase, foldedLetters, variantsOf } from '@viewset/core/backend';
import type { Document } from '../mikro/mongo-driver.ts';

/** Longer texts are compared without a pattern, because PCRE rejects patterns over 64 KiB. */
const MAX_LENGTH = 500;

/**
 * Makes the condition of a text lookup on a field. It is case-sensitive, or ignores case with Unicode's one-to-one
 * folding.
 */
export function textFilter(field: string, lookup: Lookup, text: string): Document {
  const isFolded = lookup.startsWith('i');
  const sought = isFolded ? foldCase(text) : text;
  const characters = Array.from(sought);
  if (characters.length > MAX_LENGTH) return { $expr: longText(field, lookup, sought, characters, isFolded) };
  const pattern = isFolded ? foldedPattern(characters, lookup) : characters.map(escaped).join('');
  const before = isExact(lookup) || lookup.endsWith('startswith') ? '^' : '';
  // `$` would also match before a final newline.
  const after = isExact(lookup) || lookup.endsWith('endswith') ? '\\z' : '';
  return { [field]: { $regex: before + pattern + after } };
}

function isExact(lookup: Lookup): boolean {
  return lookup.endsWith('exact');
}

/**
 * Makes a pattern that matches every text with the given folding. It does not use the option "i": PCRE folds more
 * letters than `foldCase`, such as the long s, and does not treat two characters as one.
 */
function foldedPattern(folded: readonly string[], lookup: Lookup): string {
  const startsAnywhere = lookup === 'icontains' || lookup === 'iendswith';
  const endsAnywhere = lookup === 'icontains' || lookup === 'istartswith';
  let pattern = '';
  for (let index = 0; index < folded.length; index++) {
    const character = folded[index] as string;
    const isLast = index === folded.length - 1;
    if (character === 'i' && folded[index + 1] === DOT) {
      pattern += `(?:[iI]${DOT}|${DOTTED_I})`;
      index++;
    } else if ((character === 'i' && isLast && endsAnywhere) || (character === DOT && index === 0 && startsAnywhere)) {
      pattern += `[${character}${variantsOf(character).join('')}${DOTTED_I}]`;
    } else {
      const variants = variantsOf(character);
      pattern += variants.length === 0 ? escaped(character) : `[${character}${variants.join('')}]`;
    }
  }
  return pattern;
}

function escaped(character: string): string {
  if (character === '\0') return String.raw`\x00`;
  return /[\\^$.*+?()[\]{}|]/.test(character) ? `\\${character}` : character;
}

/** Does the same for a text that is too long for a pattern. Folds the column as far as the text's letters need it. */
function longText(
  field: string,
  lookup: Lookup,
  sought: string,
  characters: readonly string[],
  isFolded: boolean,
): Document {
  const column = { $ifNull: [`$${field}`, ''] };
  const text = isFolded ? foldedColumn(column, sought) : column;
  const literal = { $literal: sought };
  if (isExact(lookup)) return { $eq: [text, literal] };
  if (lookup.endsWith('contains')) return { $gte: [{ $indexOfCP: [text, literal] }, 0] };
  const length = characters.length;
  const start = lookup.endsWith('startswith') ? 0 : { $max: [0, { $subtract: [{ $strLenCP: '$$text' }, length] }] };
  return { $let: { vars: { text }, in: { $eq: [{ $substrCP: ['$$text', start, length] }, literal] } } };
}

function foldedColumn(column: Document, folded: string): Document {
  const [find, replacement] = [0, 1].map((place) => ({ $arrayElemAt: ['$$this', place] }));
  return {
    $reduce: {
      input: { $literal: foldedLetters(folded) },
      initialValue: column,
      in: { $replaceAll: { input: '$$value', find, replacement } },
    },
  };
}
