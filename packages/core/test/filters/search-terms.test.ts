import t from 'tap';
import { searchWords } from '../../src/filters/search-filter.ts';

const words = (text: string) => searchWords(text, 20);

t.test('terms are separated by white space of any kind', async (t) => {
  t.same(words('red  hat'), ['red', 'hat']);
  t.same(words('\tred\n hat\u00a0\u3000blue '), ['red', 'hat', 'blue']);
});

t.test('quotes keep a phrase together, as it was written', async (t) => {
  t.same(words('"red  hat" blue'), ['red  hat', 'blue']);
  t.same(words("'red hat' blue"), ['red hat', 'blue']);
  t.same(words('"red hat"'), ['red hat']);
  t.same(words('"it\'s red" \'5" pipe\''), ["it's red", '5" pipe']);
  t.same(words('"a" "b c"'), ['a', 'b c']);
  t.same(words('" padded "'), [' padded ']);
  t.same(words('"line\nbreak"'), ['line\nbreak']);
});

t.test('a quote that opens or closes no phrase is an ordinary character', async (t) => {
  t.same(words("o'neill don't"), ["o'neill", "don't"]);
  t.same(words('"red hat'), ['"red', 'hat']);
  t.same(words('red hat"'), ['red', 'hat"']);
  t.same(words('5" 6"'), ['5"', '6"']);
  t.same(words('"red"hat'), ['"red"hat']);
  t.same(words('"'), ['"']);
  t.same(words('\'red hat"'), ["'red", 'hat"']);
});

t.test('an empty text and empty phrases have no terms', async (t) => {
  t.same(words(''), []);
  t.same(words('   '), []);
  t.same(words('"" \'\' "  "'), []);
  t.same(words('"" red'), ['red']);
});

t.test('parsing stops one term after the maximum', async (t) => {
  t.equal(words('a '.repeat(20)).length, 20);
  t.equal(words('a '.repeat(10_000)).length, 21);
});

// Looking from each quote for its end would take longer than a test may.
t.test('quotes that are never closed cost no more than a long text', async (t) => {
  t.equal(words('"a '.repeat(300_000)).length, 21);
  t.equal(words('"a" '.repeat(300_000)).length, 21);
  t.same(words('"" '.repeat(300_000)), []);
  t.same(words(`"${' '.repeat(900_000)}`), ['"']);
});
