/** Splits a name in any notation into words: `page_size`, `recountProduct`, `Retry-After`. */
export function wordsOf(name: string): string[] {
  return name.match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+|\p{N}+/gu) ?? [];
}

/** Joins them as `PageSize`, `RecountProduct`, `RetryAfter`. */
export function pascalCase(name: string): string {
  return wordsOf(name).map(capitalized).join('');
}

export function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
