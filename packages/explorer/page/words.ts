import { texts } from '../src/texts.ts';

/** Makes words of a name: `min_price`, `min-price` and `minPrice` are `Min price`. */
export function humanized(name: string): string {
  const words = name
    .replaceAll(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
    .replaceAll(/[_\-.]+/g, ' ')
    .trim();
  const isShouted = words === words.toUpperCase();
  const text = isShouted ? words : words.replaceAll(/\b\p{Lu}(?=\p{Ll})/gu, (letter) => letter.toLowerCase());
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Cuts a text, at a whole character, if it is longer than what anybody reads in a table. */
export function shortened(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.slice(0, length);
  return `${cut.replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** Says in plain words what the server says of a bound, `must be <= 5`, or of a size in bytes. */
export function plainWords(words: string): string {
  return words
    .replaceAll(/must be ([<>]=?) (-?[\d.]+)/g, (_words, sign: '<=' | '>=' | '<' | '>', bound: string) =>
      texts.mustBe(sign, bound),
    )
    .replaceAll('must NOT', 'must not')
    .replaceAll(/(\d{4,}) bytes/g, (_words, count: string) => texts.bytes(Number(count)));
}
