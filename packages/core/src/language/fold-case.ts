/**
 * Folds case as the case-insensitive lookups mean it: lower case by Unicode's rules of no language in particular, and
 * one small sigma, whose form at the end of a word is a matter of place and not of case.
 */
export function foldCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ');
}

/** The dotted capital I, the one letter that folds to two characters: an `i` and the dot above. */
export const DOTTED_I = 'İ';
/** The dot above, which combines with the letter before it. */
export const DOT = '\u0307';

let variants: ReadonlyMap<string, readonly string[]> | undefined;

/** Lists the other letters that fold to a letter, apart from the dotted capital I. */
export function variantsOf(letter: string): readonly string[] {
  variants ??= findVariants();
  return variants.get(letter) ?? [];
}

/**
 * Lists the letters to replace in a text, each with what it folds to, before the text is compared with a folded one. For
 * databases that cannot fold case by Unicode.
 */
export function foldedLetters(folded: string): [letter: string, replacement: string][] {
  const letters = [...new Set(folded)].flatMap((letter) =>
    variantsOf(letter).map((variant): [string, string] => [variant, letter]),
  );
  if (folded.includes('i') || folded.includes(DOT)) letters.push([DOTTED_I, `i${DOT}`]);
  return letters;
}

/** Letters that have a case stand in the first two of Unicode's planes. */
const LAST_LETTER = 0x1ffff;

function findVariants(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (let code = 0; code <= LAST_LETTER; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const letter = String.fromCodePoint(code);
    const folded = foldCase(letter);
    if (folded === letter || letter === DOTTED_I) continue;
    const others = found.get(folded);
    if (others === undefined) found.set(folded, [letter]);
    else others.push(letter);
  }
  return found;
}
