import * as fc from 'fast-check';
import { folded, newProduct, price, productName, stock, word } from './product.ts';
import { answerTo, listQuery, pages, queryText, shuffled } from './list-query.ts';
import type { Expectation, ShopModel } from './shop-model.ts';

export type Person = 'nobody' | 'forger' | 'user' | 'admin';

/** One request, and the response that the documentation requires in the current state of the model. */
export interface Action {
  readonly kind: string;
  readonly method: string;
  readonly person: Person;
  /** May depend on the existing records. */
  readonly path: (model: ShopModel) => string;
  readonly body?: string;
  readonly expected: (model: ShopModel) => Expectation;
}

const person = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Person>('admin') },
  { weight: 4, arbitrary: fc.constant<Person>('user') },
  fc.constantFrom<Person>('nobody', 'forger'),
);

/** A record that is there, by its place; or a key that no record has. */
type Target = { readonly place: number } | { readonly key: string };
const target = fc.oneof(
  { weight: 8, arbitrary: fc.nat({ max: 40 }).map((place): Target => ({ place })) },
  fc
    .constantFrom(
      '0',
      '2147483647',
      '2147483648',
      '-1',
      '01',
      '1.0',
      'a',
      '1e1',
      '%31x',
      '9'.repeat(30),
      '__proto__',
      'null',
    )
    .map((key): Target => ({ key })),
);

function keyOf(model: ShopModel, given: Target): string {
  if ('key' in given) return given.key;
  const ids = [...model.products.keys()];
  return ids.length === 0 ? '2147483646' : String(ids[given.place % ids.length]);
}

const UNAUTHORIZED: Expectation = { status: 401, code: 'unauthorized' };
const NOT_FOUND: Expectation = { status: 404, code: 'not_found' };
const refused = (paths: readonly string[]): Expectation => ({ status: 400, code: 'invalid_usage', paths });
const isLoggedIn = (who: Person): boolean => who === 'user' || who === 'admin';

/** A list of products needs no token, and an invalid one is ignored. */
const list = fc.tuple(person, listQuery).map(([who, query]): Action => ({
  kind: 'list',
  method: 'GET',
  person: who,
  path: () => `/api/products${queryText(query)}`,
  expected: (model) => {
    const answer = answerTo(query, model.products.values());
    return 'wrong' in answer ? refused(answer.wrong) : { status: 200, body: answer.page };
  },
}));

const searchAction = fc
  .tuple(
    person,
    fc.option(word, { nil: undefined, freq: 10 }),
    shuffled([
      [4, pages.page],
      [4, pages.pageSize],
    ]),
  )
  .map(([who, keyword, query]): Action => {
    const q = { name: 'q', texts: keyword === undefined ? [] : [keyword], isWrong: keyword === undefined };
    const keeps = ({ name }: { name: string }): boolean => folded(name).includes(folded(keyword ?? ''));
    return {
      kind: 'search action',
      method: 'GET',
      person: who,
      path: () => `/api/products/search${queryText([...query, q])}`,
      expected: (model) => {
        if (!isLoggedIn(who)) return UNAUTHORIZED;
        const answer = answerTo([...query, { ...q, keeps }], model.products.values());
        return 'wrong' in answer ? refused(answer.wrong) : { status: 200, body: { ...answer.page, keyword } };
      },
    };
  });

const featured = person.map((who): Action => ({
  kind: 'featured action',
  method: 'GET',
  person: who,
  path: () => '/api/products/featured',
  expected: (model) => {
    const results = [...model.products.values()].filter((product) => product.stock > 0).toSorted((a, b) => a.id - b.id);
    return isLoggedIn(who) ? { status: 200, body: { results: results.slice(0, 10) } } : UNAUTHORIZED;
  },
}));

const retrieve = fc.tuple(person, target).map(([who, which]): Action => ({
  kind: 'retrieve',
  method: 'GET',
  person: who,
  path: (model) => `/api/products/${keyOf(model, which)}`,
  expected: (model) => {
    if (!isLoggedIn(who)) return UNAUTHORIZED;
    const found = model.products.get(Number(keyOf(model, which)));
    return found === undefined || 'key' in which ? NOT_FOUND : { status: 200, body: found };
  },
}));

const destroy = fc.tuple(person, target).map(([who, which]): Action => ({
  kind: 'destroy',
  method: 'DELETE',
  person: who,
  path: (model) => `/api/products/${keyOf(model, which)}`,
  expected: (model) => {
    if (!isLoggedIn(who)) return UNAUTHORIZED;
    const found = model.products.get(Number(keyOf(model, which)));
    return found === undefined || 'key' in which ? NOT_FOUND : { status: 204, removes: found.id };
  },
}));

/** A field of a body: its JSON on the wire, and its value if the write shape accepts it. */
interface Field {
  readonly name: string;
  readonly json: string;
  readonly value?: string | number;
}

function field(name: string, right: fc.Arbitrary<string | number>, ...wrongs: readonly string[]): fc.Arbitrary<Field> {
  return fc.oneof(
    { weight: 30, arbitrary: right.map((value) => ({ name, json: JSON.stringify(value), value })) },
    fc.constantFrom('null', 'true', '[]', '{}', '{"$gt":""}', ...wrongs).map((json) => ({ name, json })),
  );
}

const longest = fc.constantFrom('x'.repeat(200), '💩'.repeat(200));
const fields = [
  field(
    'name',
    fc.oneof({ weight: 10, arbitrary: productName }, longest),
    '1',
    '""',
    '"a\\u0000"',
    '"\\ud800"',
    JSON.stringify('💩'.repeat(201)),
  ),
  field('price', price, '"12"', '0', '-0.01', '0.001', '100000000', '1e400', '99999999.991', '1e-7'),
  field('stock', stock, '"1"', '-1', '1.5', '2147483648', '1e400'),
] as const;
/** Properties that no write shape has are dropped. */
const EXTRAS = [
  '"id":7',
  '"__proto__":{"stock":9}',
  '"constructor":{"prototype":{}}',
  '"is_active":false',
  '"NAME":"x"',
  '"":1',
];

/** Bodies that are not objects, and their error codes. */
const NO_OBJECTS = {
  '': 'parse_error',
  '{': 'parse_error',
  '{"name":"a",}': 'parse_error',
  '[]': 'invalid_usage',
  null: 'invalid_usage',
  '"a"': 'invalid_usage',
};

interface Body {
  readonly text: string;
  readonly fields: readonly Field[];
  /** The error code of a body that is not an object. */
  readonly code?: string;
}

const objectBody = fc
  .tuple(...fields.map((each) => fc.option(each, { nil: undefined, freq: 4 })), fc.subarray(EXTRAS, { maxLength: 2 }))
  .chain((parts) => {
    const extras = parts.at(-1) as string[];
    const given = parts.slice(0, -1).filter((part) => part !== undefined) as Field[];
    const pairs = [...given.map(({ name, json }) => `"${name}":${json}`), ...extras];
    return fc
      .shuffledSubarray(pairs, { minLength: pairs.length })
      .map((order): Body => ({ text: `{${order.join(',')}}`, fields: given }));
  });
const body = fc.oneof(
  { weight: 25, arbitrary: objectBody },
  fc.constantFrom(...Object.entries(NO_OBJECTS)).map(([text, code]): Body => ({ text, fields: [], code })),
);

/** The errors of a body; undefined if it is accepted. */
function refusal({ code, fields: given }: Body, isPartial: boolean): Expectation | undefined {
  if (code !== undefined) return { status: 400, code };
  const wrong = given.filter(({ value }) => value === undefined).map(({ name }) => name);
  const missing = ['name', 'price'].filter((name) => !isPartial && !given.some((each) => each.name === name));
  return wrong.length + missing.length === 0 ? undefined : refused([...wrong, ...missing]);
}

function valuesOf({ fields: given }: Body): object {
  return Object.fromEntries(given.map(({ name, value }) => [name, value]));
}

const create = fc.tuple(person, body).map(([who, given]): Action => ({
  kind: 'create',
  method: 'POST',
  person: who,
  body: given.text,
  path: () => '/api/products',
  expected: () => {
    if (!isLoggedIn(who)) return UNAUTHORIZED;
    return refusal(given, false) ?? { status: 201, stores: { stock: 0, ...valuesOf(given) } };
  },
}));

const update = fc
  .tuple(person, fc.constantFrom('PUT', 'PATCH'), target, body)
  .map(([who, method, which, given]): Action => ({
    kind: method,
    method,
    person: who,
    body: given.text,
    path: (model) => `/api/products/${keyOf(model, which)}`,
    expected: (model) => {
      if (!isLoggedIn(who)) return UNAUTHORIZED;
      const key = keyOf(model, which);
      if ('key' in which && !/^(-1|0|2147483647)$/.test(key)) return NOT_FOUND;
      const found = model.products.get(Number(key));
      return (
        refusal(given, method === 'PATCH') ??
        (found === undefined ? NOT_FOUND : { status: 200, stores: { ...found, ...valuesOf(given) } })
      );
    },
  }));

/** Logged-in users read roles and administrators write them; administrators manage accounts, and users read their account. */
const guarded = fc
  .tuple(
    person,
    fc.constantFrom(
      { method: 'GET', path: '/api/roles', status: { user: 200, admin: 200 } },
      { method: 'GET', path: '/api/roles/1', status: { user: 200, admin: 200 } },
      { method: 'POST', path: '/api/roles', status: { user: 403, admin: 400 } },
      { method: 'PATCH', path: '/api/roles/999', status: { user: 403, admin: 404 } },
      { method: 'DELETE', path: '/api/roles/999', status: { user: 403, admin: 404 } },
      { method: 'GET', path: '/api/accounts', status: { user: 403, admin: 200 } },
      { method: 'GET', path: '/api/accounts/1', status: { user: 403, admin: 200 } },
      { method: 'GET', path: '/api/accounts/2', status: { user: 200, admin: 200 } },
      { method: 'GET', path: '/api/accounts/999', status: { user: 404, admin: 404 } },
      { method: 'PATCH', path: '/api/accounts/2', status: { user: 403, admin: 200 } },
      { method: 'DELETE', path: '/api/accounts/999', status: { user: 403, admin: 404 } },
      { method: 'POST', path: '/api/accounts', status: { nobody: 405, forger: 405, user: 405, admin: 405 } },
      { method: 'GET', path: '/api/nothing', status: { nobody: 404, forger: 404, user: 404, admin: 404 } },
      { method: 'DELETE', path: '/api/products', status: { nobody: 405, forger: 405, user: 405, admin: 405 } },
    ),
  )
  .map(([who, { method, path, status }]): Action => ({
    kind: 'guarded',
    method,
    person: who,
    path: () => path,
    ...(method === 'POST' || method === 'PATCH' ? { body: '{}' } : {}),
    expected: () => ({ status: (status as Partial<Record<Person, number>>)[who] ?? 401 }),
  }));

export const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 12, arbitrary: list },
  { weight: 2, arbitrary: searchAction },
  { weight: 1, arbitrary: featured },
  { weight: 2, arbitrary: retrieve },
  { weight: 4, arbitrary: create },
  { weight: 4, arbitrary: update },
  { weight: 2, arbitrary: destroy },
  { weight: 2, arbitrary: guarded },
);

/** The initial records, and the requests in their order. */
export const story = fc.record({
  products: fc.array(newProduct, { maxLength: 30 }),
  actions: fc.array(action, { minLength: 1, maxLength: 40 }),
});
