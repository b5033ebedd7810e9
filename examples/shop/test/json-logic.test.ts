import { isInvalid } from './support/expect.ts';
import { namesOf, onlyProducts } from './support/records.ts';
import { withShop } from './support/shop.ts';

const v = (name: string): { var: string } => ({ var: name });
const name = v('name');
const price = v('price');
const stock = v('stock');
const ALL = ['a', 'b', 'Bc', 'd%', 'É'];

withShop({}, async (t, shop) => {
  const token = await shop.login();
  const products = await onlyProducts(shop, token, ALL.map((name, index) => ({ name, price: index + 0.5, stock: index })));
  const ids = products.map(({ id }) => id);

  const good: [logic: unknown, names: string[]][] = [
    [{ '==': [name, 'a'] }, ['a']],
    [{ '==': ['a', name] }, ['a']],
    [{ '==': [price, 1.5] }, ['b']],
    [{ '==': [v('id'), ids[2]] }, ['Bc']],
    [{ '!=': [name, 'a'] }, ['b', 'Bc', 'd%', 'É']],
    [{ '!=': ['a', name] }, ['b', 'Bc', 'd%', 'É']],
    [{ '<': [stock, 2] }, ['a', 'b']],
    [{ '<=': [stock, 2] }, ['a', 'b', 'Bc']],
    [{ '>': [stock, 2] }, ['d%', 'É']],
    [{ '>=': [stock, 2] }, ['Bc', 'd%', 'É']],
    [{ '<': [2, stock] }, ['d%', 'É']],
    [{ '<=': [2, stock] }, ['Bc', 'd%', 'É']],
    [{ '>': [2, stock] }, ['a', 'b']],
    [{ '>=': [2, stock] }, ['a', 'b', 'Bc']],
    [{ '<': [1, stock, 4] }, ['Bc', 'd%']],
    [{ '<=': [1, stock, 4] }, ['b', 'Bc', 'd%', 'É']],
    [{ '<': [0.5, price, 2.5] }, ['b']],
    [{ '<=': [4, stock, 1] }, []],
    [{ in: [name, ['a', 'É', 'nothing']] }, ['a', 'É']],
    [{ in: [stock, [0, 3]] }, ['a', 'd%']],
    [{ in: [name, []] }, []],
    [{ '!': { in: [name, []] } }, ALL],
    [{ in: ['c', name] }, ['Bc']],
    [{ in: ['B', name] }, ['Bc']],
    [{ in: ['C', name] }, []],
    [{ in: ['%', name] }, ['d%']],
    [{ in: ['_', name] }, []],
    [{ in: ['é', name] }, []],
    [{ and: [{ '>': [stock, 0] }, { '<': [stock, 3] }] }, ['b', 'Bc']],
    [{ or: [{ '==': [name, 'a'] }, { '==': [stock, 4] }] }, ['a', 'É']],
    [{ and: [{ '==': [name, 'a'] }] }, ['a']],
    [{ '!': [{ '==': [name, 'a'] }] }, ['b', 'Bc', 'd%', 'É']],
    [{ '!': { '==': [name, 'a'] } }, ['b', 'Bc', 'd%', 'É']],
    [{ '!': { '!': { '==': [name, 'a'] } } }, ['a']],
    [{ '==': [name, null] }, []],
    [{ '!=': [name, null] }, ALL],
    [{ '==': [null, name] }, []],
    [{ or: [{ and: [{ '==': [name, 'a'] }, { '<': [price, 1] }] }, { '!': { '<': [stock, 4] } }] }, ['a', 'É']],
    [{ '!': { '!': { '!': { '!': { '==': [name, 'a'] } } } } }, ['a']],
    [{ and: Array(49).fill({ '>=': [stock, 1] }) }, ['b', 'Bc', 'd%', 'É']],
    [{ or: Array(50).fill({ '==': [stock, 1] }) }, ['b']],
  ];
  for (const [logic, names] of good) {
    t.same(await namesOf(shop, `filter=${encodeURIComponent(JSON.stringify(logic))}`), names, JSON.stringify(logic).slice(0, 100));
  }

  const nested = (depth: number): unknown => (depth === 0 ? { '==': [name, 'a'] } : { '!': nested(depth - 1) });
  const bad: unknown[] = [
    ...['===', '!==', '!!', 'xor', 'not', 'if', '?:', 'map', 'reduce', 'filter', 'all', 'none', 'some', 'merge', 'cat', 'substr', 'log', '+', '-', '*', '/', '%', 'min', 'max', 'missing', 'missing_some', 'method', '__proto__', 'constructor', 'toString', '', 'AND', 'var'].map((operator) => JSON.parse(`{${JSON.stringify(operator)}:[{"var":"name"},"a"]}`)),
    ...['password', 'nothing', '', 'role', 'role.name', 'name.length', '__proto__', 'constructor', 'NAME', 'name ', 'name__exact', 'id.', '.id', 0, null, [], ['name', 'x'], {}].map((field) => ({ '==': [{ var: field }, 'a'] })),
    ...[1, true, {}, [], ['a'], { var: 'name' }, 1.5, { x: 1 }].map((value) => ({ '==': [name, value] })),
    ...['1', true, 1.5, 2 ** 31, -(2 ** 31) - 1, 1e300, {}, [1], '', 'abc'].map((value) => ({ '==': [stock, value] })),
    ...['1', true, 'abc', [1.5]].map((value) => ({ '<': [price, value] })),
    ...['<', '<=', '>', '>='].flatMap((operator) => [{ [operator]: [stock, null] }, { [operator]: [null, stock] }]),
    ...['>', '>=', '==', '!=', 'in'].map((operator) => ({ [operator]: [1, stock, 3] })),
    { '<': [1, stock, 'x'] },
    { '<': [stock, 1, 2] },
    { '<': [1, 2, stock] },
    { '<': [1, stock, null] },
    { '<': [1, stock, 3, 4] },
    { '==': [1, 1] },
    { '==': ['a', 'b'] },
    { '==': [name] },
    { '==': [] },
    { '==': name },
    { '==': null },
    { '==': [name, 'a', 'b'] },
    { in: [name, ['a', 1]] },
    { in: [name, [null]] },
    { in: [name, [['a']]] },
    { in: [name, 'a'] },
    { in: ['a', ['a', 'b']] },
    { in: [1, name] },
    { in: ['1', stock] },
    { in: [name, name] },
    { in: [name, null] },
    { in: name },
    { and: [] },
    { or: [] },
    { and: { '==': [name, 'a'] } },
    { and: [true] },
    { or: [{ '==': [name, 'a'] }, false] },
    { and: [name] },
    { and: 'x' },
    { '!': [] },
    { '!': true },
    { '!': name },
    { '!': [{ '==': [name, 'a'] }, { '==': [name, 'b'] }] },
    { '==': [name, 'a'], '!=': [name, 'b'] },
    { '==': [{ var: 'name', x: 1 }, 'a'] },
    { '==': [{ var: ['name', 'default'] }, 'a'] },
    { '==': [name, 'a\0b'] },
    { in: ['\0', name] },
    { in: [name, ['\0']] },
    { '==': [name, '\ud800'] },
    {},
    [],
    true,
    false,
    null,
    1,
    'name',
    [{ '==': [name, 'a'] }],
    name,
    nested(5),
    nested(20),
    { or: Array(51).fill({ '==': [stock, 1] }) },
    { '!': { and: [{ or: Array(26).fill({ '==': [stock, 1] }) }, { or: Array(26).fill({ '==': [stock, 1] }) }] } },
  ];
  for (const logic of bad) {
    const json = JSON.stringify(logic);
    isInvalid(t, await shop.get(`/api/products?filter=${encodeURIComponent(json)}`), ['/filter'], json.slice(0, 100));
  }
  const texts = ['{', 'nonsense', "{'==':[1,1]}", '{"==":[{"var":"name"},"a"]', '{"==":[{"var":"stock"},1e400]}', '{"==":[{"var":"stock"},-1e400]}', '{"<":[{"var":"price"},1e999]}', '{"==":[{"var":"name"},"a"],"==":[{"var":"name"},"b"]}', '{"__proto__":[]}', 'undefined', '\ufeff{}', '['.repeat(5000), `${'{"!":'.repeat(1500)}1${'}'.repeat(1500)}`, `{"in":[{"var":"stock"},[${'1,'.repeat(3000)}"x"]]}`];
  for (const text of texts) {
    isInvalid(t, await shop.get(`/api/products?filter=${encodeURIComponent(text)}`), ['/filter'], text.slice(0, 60));
  }
  t.equal((await shop.get(`/api/products?filter=${encodeURIComponent(`{"in":[{"var":"stock"},[${'1,'.repeat(1500)}1]]}`)}`)).status < 500, true, 'a long list');
});
