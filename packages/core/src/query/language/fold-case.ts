/**
 * Folds case for the case-insensitive lookups: lower case by Unicode's language-independent rules. It has one small
 * sigma, because the final form depends on position, not on case.
 */
export function foldCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ');
}

/** The dotted capital I. It is the only letter that folds to two characters, an `i` and a combining dot above. */
export const DOTTED_I = 'İ';
/** The combining dot above. */
export const DOT = '\u0307';

let variants: ReadonlyMap<string, readonly string[]> | undefined;

/** Lists the other letters that fold to a letter, except for the dotted capital I. */
export function variantsOf(letter: string): readonly string[] {
  variants ??= findVariants();
  return variants.get(letter) ?? [];
}

/**
 * Lists the letters to replace in a text, with their replacements, before comparing it with a folded text. For
 * databases that cannot fold case by Unicode.
 */
export function foldedLetters(folded: string): [letter: string, replacement: string][] {
  const letters = [...new Set(folded)].flatMap((letter) =>
    variantsOf(letter).map((variant): [string, string] => [variant, letter]),
  );
  if (folded.includes('i') || folded.includes(DOT)) letters.push([DOTTED_I, `i${DOT}`]);
  return letters;
}

/** Letters with a case are in the first two Unicode planes. */
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
