import * as fc from 'fast-check';

/** A product as the model knows it. */
export interface Product {
  readonly id: number;
  readonly name: string;
  readonly price: number;
  readonly stock: number;
}

/** Pieces of names: letters whose case is not ASCII, characters special in LIKE and SQL, characters of two units. */
const PIECES =
  'Oak chair CHAIR a k K \u212a i I İ ı s ß ſ é É e\u0301 ô Σ σ ς % _ \\ -- ; 0 10 - 日本 💩 \u{10ffff} \u202e'.split(
    ' ',
  );
const SEPARATORS = [' ', "'", '"', '  ', '\n', '\u00a0', '\ufeff'];

/** Text without white space and quotes, as a word of a search or a part of a name. */
export const word = fc
  .array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 3 })
  .map((pieces) => pieces.join(''));

export const productName = fc
  .array(fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...PIECES) }, fc.constantFrom(...SEPARATORS)), {
    minLength: 1,
    maxLength: 8,
  })
  .map((pieces) => pieces.join(''));

/** Prices with two decimals, most of them near each other. */
export const price = fc
  .oneof(
    fc.integer({ min: 1, max: 500 }),
    fc.constantFrom(1, 9_999_999_999),
    fc.integer({ min: 1, max: 9_999_999_999 }),
  )
  .map((cents) => cents / 100);

export const stock = fc.oneof(fc.integer({ min: 0, max: 5 }), fc.constantFrom(2_147_483_647), fc.nat());

export const newProduct = fc.record({ name: productName, price, stock });

/** Folds case as documented: lower case by Unicode, and one small sigma. */
export function folded(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ');
}
