/**
 * Folds case as the case-insensitive lookups mean it: lower case by Unicode's rules of no language in particular, and
 * one small sigma, whose form at the end of a word is a matter of place and not of case.
 */
export function foldCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ');
}
