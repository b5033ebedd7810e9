import * as fc from 'fast-check';
import { folded, price, type Product, productName, stock, word } from './product.ts';
import { jsonLogic } from './json-logic.ts';

/** One query parameter, and the documented result. */
export interface Parameter {
  readonly name: string;
  /** Its values as they are sent; more than one: it is given several times. */
  readonly texts: readonly string[];
  /** A 400 names it. */
  readonly isWrong: boolean;
  readonly keeps?: (product: Product) => boolean;
  readonly order?: readonly (readonly [field: keyof Product, sign: 1 | -1])[];
  readonly page?: number;
  readonly pageSize?: number;
}

export type Page = { count: number; next: boolean; previous: boolean; results: Product[] };

const DEFAULT_PAGE_SIZE = 10;
const MAX_PAGE_SIZE = 100;
const MAX_WORDS = 20;

function wrong(name: string, ...texts: readonly string[]): fc.Arbitrary<Parameter> {
  return fc.constantFrom(...texts).map((text) => ({ name, texts: [text], isWrong: true }));
}

function rightOr(right: fc.Arbitrary<Parameter>, name: string, ...texts: readonly string[]): fc.Arbitrary<Parameter> {
  const twice = right.map(({ texts: [text] }) => ({ name, texts: [text!, text!], isWrong: true }));
  const absent = fc.constant({ name, texts: [''], isWrong: false });
  return fc.oneof({ weight: 30, arbitrary: right }, absent, twice, wrong(name, 'a\0b', ...texts));
}

/** The text of a decimal with up to four decimals, perhaps with an exponent, and its value in ten-thousandths. */
const decimal = fc
  .tuple(
    fc.oneof(
      price.map((value) => BigInt(Math.round(value * 10_000))),
      fc.bigInt({ min: -(10n ** 14n), max: 10n ** 14n }),
    ),
    fc.constantFrom('whole', 'short', 'exponent'),
  )
  .map(([value, form]) => {
    const size = value < 0n ? -value : value;
    const text = `${value < 0n ? '-' : ''}${size / 10_000n}.${String(size % 10_000n).padStart(4, '0')}`;
    if (form === 'exponent') return { text: `${value}e-4`, value };
    return { text: form === 'short' ? text.replace(/\.?0+$/, '') : text, value };
  });

const exactly = (value: number): bigint => BigInt(Math.round(value * 10_000));

const minPrice = decimal.map(({ text, value }): Parameter => ({
  name: 'min_price',
  texts: [text],
  isWrong: false,
  keeps: (product) => exactly(product.price) >= value,
}));
const maxPrice = decimal.map(({ text, value }): Parameter => ({
  name: 'max_price',
  texts: [text],
  isWrong: false,
  keeps: (product) => exactly(product.price) <= value,
}));
const minStock = fc.oneof(stock, fc.integer()).map((value): Parameter => ({
  name: 'min_stock',
  texts: [String(value)],
  isWrong: false,
  keeps: (product) => product.stock >= value,
}));
const name = fc.array(productName, { minLength: 1, maxLength: 3 }).map((names): Parameter => ({
  name: 'name',
  texts: names,
  isWrong: false,
  keeps: (product) => names.includes(product.name),
}));

/** Search terms, some of them phrases in quotes; each must match, with any case. */
const search = fc
  .array(
    fc.oneof({ weight: 4, arbitrary: word.map((text) => [text]) }, fc.array(word, { minLength: 2, maxLength: 2 })),
    {
      minLength: 1,
      maxLength: 3,
    },
  )
  .map((phrases): Parameter => {
    const texts = phrases.map((words) => words.join(' '));
    return {
      name: 'search',
      texts: [texts.map((text) => (text.includes(' ') ? `"${text}"` : text)).join(' ')],
      isWrong: false,
      keeps: (product) => texts.every((text) => folded(product.name).includes(folded(text))),
    };
  });
const tooManyWords = Array.from({ length: MAX_WORDS + 1 }, () => 'a').join(' ');

const sort = fc
  .uniqueArray(fc.tuple(fc.constantFrom('id', 'name', 'price', 'stock'), fc.constantFrom(1, -1)), {
    minLength: 1,
    maxLength: 4,
    selector: ([field]) => field,
  })
  .map((order): Parameter => ({
    name: 'sort',
    texts: [order.map(([field, sign]) => (sign === 1 ? field : `-${field}`)).join(',')],
    isWrong: false,
    order,
  }));

const filter = jsonLogic.map(({ json, keeps, isWrong }): Parameter => ({
  name: 'filter',
  texts: [JSON.stringify(json)],
  isWrong,
  keeps,
}));

const page = fc
  .oneof({ weight: 5, arbitrary: fc.integer({ min: 1, max: 4 }) }, fc.constantFrom(1000, 2_147_483_647))
  .map((value): Parameter => ({ name: 'page', texts: [String(value)], isWrong: false, page: value }));
const pageSize = fc
  .oneof({ weight: 5, arbitrary: fc.integer({ min: 1, max: 12 }) }, fc.constantFrom(100, 101, 2_147_483_647))
  .map((value): Parameter => ({ name: 'page_size', texts: [String(value)], isWrong: false, pageSize: value }));

const NO_INTEGERS = ['0', '-1', '01', '+1', '1.0', '1e1', ' 1', '٣', '2147483648', 'null', '9'.repeat(50)];
export const pages = {
  page: rightOr(page, 'page', ...NO_INTEGERS),
  pageSize: rightOr(pageSize, 'page_size', ...NO_INTEGERS),
};

const UNKNOWN = ['nmae', 'price', 'limit', 'name__icontains', '__proto__', 'constructor', 'toString', 'name[]'];

/** The query of a list of products: each parameter there or not, in any order. */
export const listQuery = shuffled([
  [5, rightOr(search, 'search', tooManyWords)],
  [3, rightOr(minPrice, 'min_price', 'a', '1e', '.5', '5.', '0x1', 'NaN', '1,5')],
  [3, rightOr(maxPrice, 'max_price', 'a', '1e400', '.5', '5.', '0x1', 'Infinity', "1'")],
  [3, rightOr(minStock, 'min_stock', 'a', '1.5', '01', '+1', '2147483648', '-2147483649')],
  [2, fc.oneof({ weight: 20, arbitrary: name }, wrong('name', 'a\0'))],
  [4, rightOr(filter, 'filter', '{', 'nonsense', '{"==":[{"var":"stock"},1e400]}', '['.repeat(1000))],
  [4, rightOr(sort, 'sort', 'prize', '--name', 'name,prize', '__proto__', 'NAME', 'name desc')],
  [5, pages.page],
  [5, pages.pageSize],
  [0.3, wrong('', ...UNKNOWN).map((parameter) => ({ ...parameter, name: parameter.texts[0]!, texts: ['1'] }))],
]);

/** Chooses of parameters, each with a chance in ten. */
export function shuffled(choices: readonly (readonly [chance: number, arbitrary: fc.Arbitrary<Parameter>])[]) {
  const maybe = choices.map(([chance, arbitrary]) =>
    fc
      .tuple(fc.integer({ min: 0, max: 99 }), arbitrary)
      .map(([draw, parameter]) => (draw < chance * 10 ? [parameter] : [])),
  );
  return fc.tuple(...maybe).chain((found) => {
    const parameters = found.flat();
    return fc.shuffledSubarray(parameters, { minLength: parameters.length });
  });
}

/** The page that the contract has for the query, or the names of the parameters that it refuses. */
export function answerTo(
  parameters: readonly Parameter[],
  products: Iterable<Product>,
): { wrong: readonly string[] } | { page: Page } {
  const refused = parameters.filter(({ isWrong }) => isWrong);
  if (refused.length > 0) return { wrong: refused.map((parameter) => parameter.name) };
  const order = parameters.flatMap((parameter) => parameter.order ?? []);
  const found = [...products]
    .filter((product) => parameters.every(({ keeps }) => keeps?.(product) ?? true))
    .toSorted((a, b) => compareBy([...order, ['id', 1]], a, b));
  const number = parameters.find((parameter) => parameter.page !== undefined)?.page ?? 1;
  const wanted = parameters.find((parameter) => parameter.pageSize !== undefined)?.pageSize ?? DEFAULT_PAGE_SIZE;
  const size = Math.min(wanted, MAX_PAGE_SIZE);
  const results = found.slice((number - 1) * size, number * size);
  return { page: { count: found.length, next: number * size < found.length, previous: number > 1, results } };
}

function compareBy(order: NonNullable<Parameter['order']>, a: Product, b: Product): number {
  for (const [field, sign] of order) {
    // Both databases order by code points, like UTF-8 bytes.
    const difference =
      field === 'name' ? Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)) : a[field] - b[field];
    if (difference !== 0) return sign * difference;
  }
  return 0;
}

/** The parameters as a query string; every character that could mean something is encoded. */
export function queryText(parameters: readonly Parameter[]): string {
  const pairs = parameters.flatMap(({ name: key, texts }) =>
    texts.map((text) => `${encodeURIComponent(key)}=${encodeURIComponent(text)}`),
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}
