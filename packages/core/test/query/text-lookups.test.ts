/** Every text lookup, on every database, against the same lookup written in JavaScript. */
import t from 'tap';
import { foldCase } from '../../src/query/language/fold-case.ts';
import { QuerySet } from '../../src/query/queryset.ts';
import { forEachDatabase } from '../support/databases.ts';
import { numbers } from '../support/numbers.ts';
import { entities, pick, Product } from './catalog.ts';

const TEXTS = [
  'tea',
  'Tea',
  'TEA',
  'Green tea',
  'teapot',
  ' tea ',
  'É',
  'é',
  'CAFÉ',
  'café',
  'cafe\u0301',
  'Straße',
  'STRASSE',
  'ẞ',
  'İstanbul',
  'istanbul',
  'ISTANBUL',
  'ıstanbul',
  '300 \u212a',
  '300 k',
  '300 K',
  'ΟΔΟΣ',
  'οδος',
  'οδοσ',
  'ΟΔΟΣΑ',
  'Ω',
  'ω',
  '\u2126',
  'ǅ',
  'ǆ',
  'Ǆ',
  'ЖЁЛТЫЙ',
  'жёлтый',
  '50%',
  '50',
  '5_0',
  '5x0',
  'kiİ\u212aKI',
  'ſtea',
  'aaaa\u0307b',
  'a\\b',
  'a\\\\b',
  "O'Neil",
  'say "hi"',
  "Robert'); drop table product;--",
  '😀 smile',
  '😀',
  '\n',
  '\t',
  '\u0001\u0002',
  '$1 ?',
  'Ⅷ',
  'ⅷ',
  '',
];

const NEEDLES = [
  ...TEXTS,
  'K',
  '\u212a',
  'k',
  'i',
  'I',
  'İ',
  'ı',
  'i\u0307',
  'σ',
  'ς',
  'Σ',
  'ss',
  'ß',
  '%',
  '_',
  '\\',
  "'",
  '"',
  ' ',
  'EA',
  'ea',
  'É ',
  'e',
  '😀 S',
  '\u0307',
  '?',
  'ki',
  'nbu',
  'İst',
  'ıst',
  'aſe',
  'fÉ',
  'éa',
  '0 \u212a',
  'Stra',
  'aße',
  'STRASS',
  '😀 sm',
  'ile',
  '%t',
  'tea'.repeat(400),
];

const LOOKUPS: Record<string, (text: string, needle: string) => boolean> = {
  exact: (text, needle) => text === needle,
  ne: (text, needle) => text !== needle,
  contains: (text, needle) => text.includes(needle),
  startswith: (text, needle) => text.startsWith(needle),
  endswith: (text, needle) => text.endsWith(needle),
  iexact: (text, needle) => foldCase(text) === foldCase(needle),
  icontains: (text, needle) => foldCase(text).includes(foldCase(needle)),
  istartswith: (text, needle) => foldCase(text).startsWith(foldCase(needle)),
  iendswith: (text, needle) => foldCase(text).endsWith(foldCase(needle)),
};

forEachDatabase(t, { entities, onLibSql: true }, async (t, orm) => {
  const em = orm.em.fork();
  for (const name of TEXTS) em.create(Product, { name });
  await em.flush();
  const products = QuerySet.of(orm.em.fork(), Product);
  const names = pick(orm, Product, 'name');

  for (const [lookup, holds] of Object.entries(LOOKUPS)) {
    t.test(`${lookup} compares by Unicode rules, without wildcards`, async (t) => {
      for (const needle of NEEDLES) {
        const found = await products.filter({ [`name__${lookup}`]: needle }).rows(names);
        const wanted = TEXTS.filter((text) => holds(text, needle));
        t.strictSame(found.flat(), wanted, JSON.stringify(needle));
      }
    });
  }

  t.test('generated texts are found as a model in JavaScript finds them', async (t) => {
    const random = numbers(0x5eed);
    const texts = Array.from({ length: 400 }, (_, index) => generated(random, index));
    const em = orm.em.fork();
    const last = await em.count(Product);
    for (const name of texts) em.create(Product, { name });
    await em.flush();
    const generatedOnes = products.filter({ id__gt: last });
    for (let time = 0; time < 150; time++) {
      const needle = time % 2 === 0 ? texts[time]! : generated(random, time);
      for (const [lookup, holds] of Object.entries(LOOKUPS)) {
        const found = await generatedOnes.filter({ [`name__${lookup}`]: needle }).rows(names);
        const wanted = texts.filter((text) => holds(text, needle));
        const isSame = JSON.stringify(found.flat()) === JSON.stringify(wanted);
        if (!isSame) t.strictSame(found.flat(), wanted, `${lookup} ${JSON.stringify(needle)}`);
      }
    }
    await orm.em.fork().nativeDelete(Product, { id: { $gt: last } });
  });

  t.test('case is folded by Unicode, of no language in particular', async (t) => {
    const count = (lookup: object): Promise<number> => products.filter(lookup).count();
    t.equal(await count({ name__iexact: 'É' }), 2, 'É finds é');
    t.equal(await count({ name__iexact: '300 k' }), 3, 'k finds the Kelvin sign');
    t.equal(await count({ name__iexact: 'ω' }), 3, 'ω finds the ohm sign');
    t.equal(await count({ name__iexact: 'οδος' }), 3, 'a sigma is a sigma, wherever it stands');
    t.equal(await count({ name__icontains: 'οδος' }), 4, 'in the middle of a word too');
    t.equal(await count({ name__icontains: 'STRASSE' }), 1, 'ß is no ss');
    t.equal(await count({ name__istartswith: 'istanbul' }), 2, 'the dotted capital I keeps its dot');
  });

  t.test('text that no database can store is rejected before the query', async (t) => {
    for (const needle of ['a\0b', '\ud800']) {
      t.throws(() => products.filter({ name__icontains: needle }), { name: 'FieldValueError' });
      t.throws(() => products.filter({ name: needle }), { name: 'FieldValueError' });
    }
  });
});

/** ASCII that others fold to, what folds to it, what folds to two letters or none, and what a pattern makes much of. */
const LETTERS = 't,k,i,K,I,T,%,_,\\, ,a,ô,Ô,é,É,ß,ẞ,σ,ς,Σ,ſ,ı,İ,\u212a,\u2126,ω,😀,i\u0307,e\u0301'.split(',');

/** Of four letters, so that they meet. */
function generated(random: () => number, index: number): string {
  const letters = [0, 7, 11, 19].map((step) => LETTERS[(index * step + (index % LETTERS.length)) % LETTERS.length]);
  const length = Math.floor(random() * 6);
  return Array.from({ length }, () => letters[Math.floor(random() * letters.length)]).join('');
}
