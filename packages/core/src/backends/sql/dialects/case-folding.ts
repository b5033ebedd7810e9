/**
 * Folds case as the case-insensitive lookups mean it: lower case by Unicode's rules of no language in particular, and
 * one small sigma, whose form at the end of a word is a matter of place and not of case.
 */
export function foldCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ');
}

/** True of a text whose folding changes nothing but ASCII letters, whatever it is compared with. */
export function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) > 0x7f) return false;
  }
  return true;
}
