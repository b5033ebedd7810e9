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
