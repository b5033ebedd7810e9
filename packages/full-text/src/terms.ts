/** Consecutive words: one word, or a phrase. */
export type Phrase = readonly string[];

/** Writes a phrase in quotes, as PostgreSQL and FTS5 parse it. */
export function quotedPhrase(phrase: Phrase): string {
  return `"${phrase.join(' ')}"`;
}

/** A parsed search text. */
export interface SearchTerms {
  /** Each must occur. */
  readonly required: readonly Phrase[];
  /** None may occur. */
  readonly excluded: readonly Phrase[];
  /** The number of words. Reading stops after the maximum. */
  readonly words: number;
}

/** A phrase in quotes, or anything up to the next white space; both may start with a minus. */
const TERM = /(?<!\S)(-?)["“”„]([^"“”„]*)["“”„]|\S+/gu;
/** A word begins with a letter or a digit. Accents may be separate characters. */
const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;

/**
 * Parses a search: words, "phrases" in quotes, and `-word` or `-"a phrase"` to exclude. All characters except letters
 * and digits separate words, so `well-known` is the phrase "well known". An unpaired quote also separates words.
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
