import t from 'tap';
import { textFilter } from '../src/backend/text-pattern.ts';
import { foldCase } from '../../core/src/query/language/fold-case.ts';

function pattern(lookup: 'icontains' | 'istartswith' | 'iendswith' | 'iexact' | 'contains', text: string): RegExp {
  const { $regex } = textFilter('name', lookup, text)['name'] as { $regex: string };
  // JavaScript has no "\z"; its "$" is one.
  return new RegExp($regex.replace(/\\z$/, '$'), 'u');
}

t.test('letters that Unicode folds and that no lower case has are others', async (t) => {
  t.notMatch('ſ', pattern('icontains', 's'));
  t.match('K', pattern('icontains', 'k'), 'the Kelvin sign');
  t.match('ΟΔΟΣ', pattern('iexact', 'οδος'));
  t.match('οδος', pattern('iexact', 'ΟΔΟΣ'));
});

t.test('the dotted capital I is two characters, which a text may begin or end between', async (t) => {
  for (const [lookup, text, isFound] of [
    ['icontains', 'i', true],
    ['icontains', '\u0307', true],
    ['icontains', 'i\u0307', true],
    ['icontains', 'ai', true],
    ['icontains', '\u0307b', true],
    ['istartswith', 'ai', true],
    ['istartswith', '\u0307b', false],
    ['iendswith', '\u0307b', true],
    ['iendswith', 'ai', false],
    ['iexact', 'aib', false],
    ['iexact', 'ai\u0307b', true],
  ] as const) {
    const folded = foldCase('aİb');
    const expected =
      lookup === 'icontains'
        ? folded.includes(text)
        : lookup === 'iexact'
          ? folded === text
          : lookup === 'istartswith'
            ? folded.startsWith(text)
            : folded.endsWith(text);
    t.equal(expected, isFound, 'as the model has it');
    t.equal(pattern(lookup, text).test('aİb'), isFound, `${lookup} ${JSON.stringify(text)}`);
  }
});

t.test('no character of a text is special in a pattern', async (t) => {
  const text = ['\\E^$.*+?()[]{}|/-#\\d', ''].join('\n');
  t.match(`a${text}b`, pattern('contains', text));
  t.notMatch(`a${text}b`.replace('.', 'x'), pattern('contains', text));
});

t.test('a text that is too long for a pattern is compared without one', async (t) => {
  const filter = textFilter('name', 'icontains', 'É'.repeat(501));
  t.match(Object.keys(filter), ['$expr']);
});
