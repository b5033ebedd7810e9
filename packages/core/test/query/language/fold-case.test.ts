import t from 'tap';
import { foldCase, variantsOf } from '../../../src/query/language/fold-case.ts';

t.test('every letter is found by its fold, and by no other letter', async (t) => {
  const wrong: string[] = [];
  for (let code = 1; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const letter = String.fromCodePoint(code);
    const folded = foldCase(letter);
    if (folded === letter || letter === 'İ') continue;
    if (!variantsOf(folded).includes(letter)) wrong.push(letter);
  }
  t.strictSame(wrong, []);
});
