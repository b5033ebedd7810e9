import { isInvalid } from './support/expect.ts';
import { namesOf, onlyProducts } from './support/records.ts';
import { withShop } from './support/shop.ts';

const NAMES = [
  'Red Chair',
  'red table',
  'Blue chair 50% off',
  'snake_case \\ path',
  'Écluse ÀÉÎ',
  'straße',
  'Ω mega',
  'O\'Neil "quoted"',
  'a  b',
  '💩',
];

withShop({}, async (t, shop) => {
  const token = await shop.login();
  await onlyProducts(
    shop,
    token,
    NAMES.map((name) => ({ name })),
  );
  const search = (text: string): Promise<string[] | string> => namesOf(shop, `search=${encodeURIComponent(text)}`);

  for (const [about, text, found] of [
    ['a part of a word', 'hai', ['Red Chair', 'Blue chair 50% off']],
    ['another case', 'CHAIR', ['Red Chair', 'Blue chair 50% off']],
    ['every word must be found', 'chair red', ['Red Chair']],
    ['in any order, anywhere', 'off blue', ['Blue chair 50% off']],
    ['one word that is not there', 'chair green', []],
    ['white space of any kind', ' \t chair\n\u00a0red\u3000', ['Red Chair']],
    ['nothing but white space is no search', '  \t', NAMES],
    ['quotes keep a phrase together', '"red chair"', ['Red Chair']],
    ['a phrase in another order', '"chair red"', []],
    ['single quotes keep a phrase, too, or are ordinary', "O'Neil", ['O\'Neil "quoted"']],
    ['a phrase and a word', '"chair 50%" blue', ['Blue chair 50% off']],
    ['% is ordinary', '%', ['Blue chair 50% off']],
    ['% between letters', 'r%d', []],
    ['_ is ordinary', '_', ['snake_case \\ path']],
    ['_ for a letter', 'r_d', []],
    ['\\ is ordinary', '\\', ['snake_case \\ path']],
    ['\\%', '\\%', []],
    ['É finds é', 'éCLUSE', ['Écluse ÀÉÎ']],
    ['É finds é in the middle', 'àéî', ['Écluse ÀÉÎ']],
    ['e does not find É', 'ecluse', []],
    ['Greek', 'ω', ['Ω mega']],
    ['ß', 'STRAß', ['straße']],
    ['an emoji', '💩', ['💩']],
    ['a prefix sign is an ordinary character of what is searched', '^Red', []],
    ['= too', '=Red', []],
    ['two spaces in a phrase', '"a  b"', ['a  b']],
    ['SQL', "' or 1=1 --", []],
    ['20 words', Array(20).fill('red').join(' '), ['Red Chair', 'red table']],
    ['a long word', 'x'.repeat(5000), []],
    ['another long word', 'É'.repeat(700), []],
  ] as const) {
    t.same(await search(text), found, about);
  }

  for (const words of [21, 100, 2000]) {
    isInvalid(
      t,
      await shop.get(`/api/products?search=${Array(words).fill('a').join('+')}`),
      ['/search'],
      `${words} words`,
    );
  }
});
