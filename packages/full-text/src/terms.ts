/** Words that stand one behind the other: one word, or a phrase. */
export type Phrase = readonly string[];

/** Writes a phrase in quotes, as PostgreSQL and FTS5 read it. */
export function quotedPhrase(phrase: Phrase): string {
  return `"${phrase.join(' ')}"`;
}

/** What a text asks for. */
export interface SearchTerms {
  /** Each must be found. */
  readonly required: readonly Phrase[];
  /** None may be found. */
  readonly excluded: readonly Phrase[];
  /** The number of words; reading stops behind the maximum. */
  readonly words: number;
}

/** A phrase in quotes, or anything up to the next white space; either with a minus in front. */
const TERM = /(?<!\S)(-?)["“”„]([^"“”„]*)["“”„]|\S+/gu;
/** A word begins with a letter or a digit. Accents may be characters of their own. */
const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;

/**
 * Reads a search: words, "phrases" in quotes, `-word` and `-"a phrase"` to exclude. Anything but letters and digits separates words, so that
 * `well-known` is the phrase "well known". A quote without its other one separates words too.
 *
 * @example
 * readTerms('Tea "green leaf" -black', 20);
 * // { required: [['Tea'], ['green', 'leaf']], excluded: [['black']], words: 4 }
 */
export function readTerms(text: string, maximumWords: number): SearchTerms {
  const required = new Map<string, Phrase>();
  const excluded = new Map<string, Phrase>();
  let words = 0;
  for (const [term, minus, quoted] of text.normalize('NFC').matchAll(TERM)) {
    const phrase = (quoted ?? term).match(WORD) ?? [];
    if (phrase.length === 0) continue;
    words += phrase.length;
    if (words > maximumWords) break;
    const isExcluded = quoted === undefined ? /^-["“”„]?[\p{L}\p{N}]/u.test(term) : minus === '-';
    (isExcluded ? excluded : required).set(phrase.join(' ').toLowerCase(), phrase);
  }
  return { required: [...required.values()], excluded: [...excluded.values()], words };
}
