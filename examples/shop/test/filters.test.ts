import { isInvalid } from './support/expect.ts';
import { namesOf, onlyProducts } from './support/records.ts';
import { withShop } from './support/shop.ts';

withShop({}, async (t, shop) => {
  const token = await shop.login();
  await onlyProducts(shop, token, [
    { name: 'a', price: 0.1, stock: 0 },
    { name: 'b', price: 0.3, stock: 5 },
    { name: 'B', price: 10, stock: 10 },
    { name: 'c, d', price: 1234.56, stock: 2147483647 },
    { name: "it's 100%", price: 99999999.99, stock: 7 },
  ]);

  for (const [query, names] of [
    ['min_price=0.3', ['b', 'B', 'c, d', "it's 100%"]],
    ['min_price=0.30', ['b', 'B', 'c, d', "it's 100%"]],
    ['min_price=10', ['B', 'c, d', "it's 100%"]],
    ['min_price=10.00', ['B', 'c, d', "it's 100%"]],
    ['min_price=99999999.99', ["it's 100%"]],
    ['min_price=-5', ['a', 'b', 'B', 'c, d', "it's 100%"]],
    ['max_price=0.3', ['a', 'b']],
    ['max_price=0.1', ['a']],
    ['max_price=0', []],
    ['max_price=1234.56', ['a', 'b', 'B', 'c, d']],
    ['min_price=0.3&max_price=10', ['b', 'B']],
    ['min_price=10&max_price=0.3', []],
    ['min_stock=0', ['a', 'b', 'B', 'c, d', "it's 100%"]],
    ['min_stock=5', ['b', 'B', 'c, d', "it's 100%"]],
    ['min_stock=2147483647', ['c, d']],
    ['min_stock=-1', ['a', 'b', 'B', 'c, d', "it's 100%"]],
    ['name=b', ['b']],
    ['name=B', ['B']],
    ['name=a&name=B', ['a', 'B']],
    ['name=a&name=', ['a']],
    ['name=a&name=a', ['a']],
    ['name=nothing', []],
    ['name=c,%20d', ['c, d']],
    ["name=it's+100%25", ["it's 100%"]],
    ['name=%25', []],
    ['name=b&min_stock=6', []],
    [Array(50).fill('name=b').join('&'), ['b']],
  ] as const) {
    t.same(await namesOf(shop, query), names, query.slice(0, 60));
  }

  await t.test('a value that does not fit the type of the field: 400 that names the parameter', async (t) => {
    const notNumbers = [
      'abc',
      '1,5',
      '1_000',
      '0x10',
      '1e',
      'NaN',
      'Infinity',
      '-Infinity',
      '--1',
      '1.2.3',
      '٣',
      'true',
      'null',
      '1 2',
      '1;',
      "1'",
      '[]',
      '1e999',
      '١',
    ];
    for (const name of ['min_price', 'max_price', 'min_stock']) {
      for (const value of notNumbers) {
        const answer = await shop.get(`/api/products?${name}=${encodeURIComponent(value)}`);
        isInvalid(t, answer, [`/${name}`], `${name}=${value}`);
        t.match(answer.body.error, name, 'the message names it');
      }
    }
    for (const value of ['1.5', '01', '+1', '1e3', '2147483648', '-2147483649', '9'.repeat(400), ' 1']) {
      isInvalid(
        t,
        await shop.get(`/api/products?min_stock=${encodeURIComponent(value)}`),
        ['/min_stock'],
        `min_stock=${value.slice(0, 40)}`,
      );
    }
  });

  await t.test('a decimal of any size is compared, even if the column could not store it', async (t) => {
    for (const [value, names] of [
      ['9'.repeat(400), []],
      ['123456789012345678901234567890', []],
      [`0.${'1'.repeat(400)}`, ['b', 'B', 'c, d', "it's 100%"]],
      ['0.100000001', ['b', 'B', 'c, d', "it's 100%"]],
      ['0.099999999', ['a', 'b', 'B', 'c, d', "it's 100%"]],
      ['-0', ['a', 'b', 'B', 'c, d', "it's 100%"]],
      ['1e-7', ['a', 'b', 'B', 'c, d', "it's 100%"]],
      ['1.00000001E-1', ['b', 'B', 'c, d', "it's 100%"]],
      ['1e9', []],
      [`-${'9'.repeat(400)}`, ['a', 'b', 'B', 'c, d', "it's 100%"]],
    ] as const) {
      t.same(await namesOf(shop, `min_price=${value}`), names, `min_price=${value.slice(0, 40)}`);
    }
    for (const value of ['1e400', '1e-400', '1e', '.5', '5.']) {
      isInvalid(t, await shop.get(`/api/products?min_price=${value}`), ['/min_price'], `min_price=${value}`);
    }
  });

  await t.test('one of fifteen hundred values matches', async (t) => {
    const names = Array.from({ length: 1500 }, (_, index) => `name=${index}`).join('&');
    t.same(await namesOf(shop, names), []);
    t.same(await namesOf(shop, `${names}&name=B`), ['B']);
  });
});
