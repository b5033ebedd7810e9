/**
 * The words of a search text: separated by white space, where quotes (`"` or `'`) keep a phrase together.
 *
 * A quote opens a phrase at the start of a word and closes it at the end of one; any other quote (`O'Brien`, `5" pipe`,
 * one that is never closed) is an ordinary character. A phrase of nothing but white space is no word. Reading stops
 * after `maximum + 1` words, so that a caller can tell "too many" and a hostile text costs no more than a long one.
 *
 * @example
 * searchWords(`red "wide brim" o'neill`, 20);   // ['red', 'wide brim', "o'neill"]
 */
export function searchWords(text: string, maximum: number): string[] {
  if (!SEPARATOR_OR_QUOTE.test(text)) return text === '' ? [] : [text];
  const words: string[] = [];
  for (const match of text.matchAll(PHRASE_OR_WORD)) {
    const word = match[2] ?? match[0];
    if (word.trim() === '') continue;
    words.push(word);
    if (words.length > maximum) break;
  }
  return words;
}

const SEPARATOR_OR_QUOTE = /[\s"']/;
const PHRASE_OR_WORD = /(["'])(.*?)\1(?!\S)|\S+/gs;
