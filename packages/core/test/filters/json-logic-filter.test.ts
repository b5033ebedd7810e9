import t from 'tap';
import { Check } from 'typebox/schema';
import { ImproperlyConfigured, InvalidUsage } from '../../src/errors/errors.ts';
import { JsonLogicFilter } from '../../src/filters/json-logic-filter.ts';
import { QueryParameters } from '../../src/http/parameters.ts';
import { forEachDatabase } from '../support/databases.ts';
import { entities, fillCatalog, ids, items, query, target } from './catalog.ts';

const jsonLogicFields = [
  'id', 'name', 'note', 'price', 'stock', 'serial', 'active', 'kind', 'made', 'rating', 'data', 'brand', 'brand.name',
]; // prettier-ignore
const price = { var: 'price' };
const name = { var: 'name' };
const rating = { var: 'rating' };

/** Rules, and the ids of what they keep. */
const KEPT: readonly (readonly [rule: unknown, kept: readonly number[]])[] = [
  // ==, != with the value on either side
  [{ '==': [name, 'Cup'] }, [4]],
  [{ '==': ['Cup', name] }, [4]],
  [{ '==': [name, 'cup'] }, []],
  [{ '!=': [name, 'Cup'] }, [1, 2, 3, 5]],
  [{ '!=': ['Cup', name] }, [1, 2, 3, 5]],
  [{ '==': [price, 12.5] }, [2]],
  [{ '==': [{ var: 'active' }, false] }, [4]],
  [{ '==': [{ var: 'kind' }, 'tea'] }, [1, 2]],
  [{ '==': [{ var: 'brand' }, 2] }, [3, 4]],
  [{ '==': [{ var: 'brand.name' }, 'Žen'] }, [3, 4]],
  [{ '==': [{ var: 'made' }, '2024-01-03T00:00:00.000Z'] }, [3]],
  // NULL
  [{ '==': [rating, null] }, [2, 5]],
  [{ '==': [null, rating] }, [2, 5]],
  [{ '!=': [rating, null] }, [1, 3, 4]],
  [{ '!=': [null, { var: 'brand' }] }, [1, 2, 3, 4]],
  [{ '==': [{ var: 'brand.name' }, null] }, [5]],
  [{ '!=': [rating, 3] }, [1, 2, 4, 5]],
  [{ '!': { '==': [rating, 3] } }, [1, 2, 4, 5]],
  [{ '!': { '>': [rating, 3] } }, [2, 3, 5]],
  // order, flipped when the value stands on the left
  [{ '<': [price, 10] }, [4, 5]],
  [{ '<=': [price, 10] }, [1, 4, 5]],
  [{ '>': [price, 10] }, [2, 3]],
  [{ '>=': [price, 10] }, [1, 2, 3]],
  [{ '<': [10, price] }, [2, 3]],
  [{ '<=': [10, price] }, [1, 2, 3]],
  [{ '>': [10, price] }, [4, 5]],
  [{ '>=': [10, price] }, [1, 4, 5]],
  [{ '<': [name, 'C'] }, [2]],
  [{ '>': [{ var: 'made' }, '2024-01-02T00:00:00Z'] }, [3, 4]],
  // between
  [{ '<': [5, price, 12.5] }, [1]],
  [{ '<=': [5, price, 12.5] }, [1, 2, 4, 5]],
  [{ '<': [12.5, price, 5] }, []],
  // in
  [{ in: [{ var: 'id' }, [1, 5, 77]] }, [1, 5]],
  [{ in: [name, ['Cup', 'Spoon', 'Cup']] }, [4, 5]],
  [{ in: [{ var: 'id' }, []] }, []],
  [{ '!': [{ in: [{ var: 'id' }, []] }] }, [1, 2, 3, 4, 5]],
  [{ '!': [{ in: [rating, [3]] }] }, [1, 2, 4, 5]],
  [{ in: ['Tea', name] }, [1, 2, 3]],
  [{ in: ['tea', name] }, []],
  [{ in: ['%', { var: 'note' }] }, [1]],
  [{ in: ['_', { var: 'note' }] }, [3]],
  [{ in: ['\\', { var: 'note' }] }, [3]],
  [{ in: ['lan', { var: 'brand.name' }] }, [1, 2]],
  [{ in: ['x'.repeat(500), name] }, []],
  // and, or, !
  [{ and: [{ '>': [price, 5] }, { '<': [price, 20] }] }, [1, 2]],
  [{ or: [{ '==': [name, 'Cup'] }, { '>': [price, 20] }] }, [3, 4]],
  [{ and: [{ '==': [name, 'Cup'] }] }, [4]],
  [{ or: [{ '==': [name, 'Cup'] }] }, [4]],
  [{ '!': { '==': [name, 'Cup'] } }, [1, 2, 3, 5]],
  [{ '!': [{ '==': [name, 'Cup'] }] }, [1, 2, 3, 5]],
  [{ '!': { or: [{ '==': [name, 'Cup'] }, { '==': [rating, null] }] } }, [1, 3]],
  [{ '!': { '!': { '!': { '!': { '==': [name, 'Cup'] } } } } }, [4]],
];

/** Rules, or texts that are not even rules, and what the 400 says. */
const REFUSED: readonly (readonly [rule: unknown, message: RegExp])[] = [
  ['not json', /must be JSON/],
  ['{"==":[{"var":"id"},1]} x', /must be JSON/],
  ['{"==":[{"var":"id"},1],"==":[{"var":"id"},2]}', /same key twice/],
  ['{"==":[{"var":"id","var":"price"},1]}', /same key twice/],
  ['{"==":[{"var":"price"},1e400]}', /too large/],
  // not a rule
  ...[null, true, 1, [], {}, [{ '==': [name, 'Cup'] }], price].map((rule) => [rule, /operator/] as const),
  ['"text"', /expected an object with one operator, got "text"/],
  [{ '==': [name, 'a'], '!=': [name, 'b'] }, /got an object with "==", "!="/],
  [{ '===': [name, 'Cup'] }, /expected one of the operators == != < <= > >= in and or !, got "==="/],
  ...['!!', 'if', 'some', 'missing', 'cat', '+', 'AND', '', 'constructor', 'toString', 'valueOf'].map(
    (operator) => [{ [operator]: [price, 1] }, /expected one of the operators/] as const,
  ),
  ['{"__proto__":[{"var":"price"},1]}', /expected one of the operators.*"__proto__"/],
  // lists of operands
  [{ and: [] }, /expected a list of 1 or more, got a list of 0, at \/and/],
  [{ or: [] }, /at \/or/],
  [{ and: { '==': [name, 'Cup'] } }, /expected a list.*an object with "=="/],
  [{ '!': [] }, /list of 1, got a list of 0/],
  [{ '!': [{ '==': [name, 'a'] }, { '==': [name, 'b'] }] }, /list of 1, got a list of 2/],
  [{ '!': { var: 'active' } }, /expected one of the operators/],
  [{ '!': true }, /operator/],
  [{ '==': [price] }, /list of 2, got a list of 1/],
  [{ '==': [price, 1, 2] }, /list of 2, got a list of 3/],
  [{ '>': [1, price, 5] }, /list of 2/],
  [{ '<': [price] }, /list of 2 to 3/],
  [{ '<': [1, price, 5, 6] }, /list of 2 to 3/],
  [{ '==': price }, /list of 2/],
  [{ '==': 1 }, /list of 2, got 1/],
  // between: the field stands in the middle
  [{ '<': [price, 1, 5] }, /second of three operands must be a {"var": …}, got 1, at \/</],
  [{ '<=': [1, 5, price] }, /second of three/],
  [{ '<': [1, price, null] }, /null/],
  [{ '<': [1, price, rating] }, /expected a value to compare "price" with/],
  [{ '<': ['a', price, 5] }, /"price" must be/],
  // one field and one value
  [{ '==': [price, rating] }, /one operand must be a {"var": …} and the other a value/],
  [{ '==': [1, 1] }, /one operand must be/],
  [{ '==': [price, [1]] }, /expected a value to compare "price" with, got a list of 1/],
  [{ '==': [price, { '+': [1, 2] }] }, /expected a value or a {"var": …}, got an object with "\+"/],
  [{ '==': [price, {}] }, /an empty object/],
  [{ '==': [{ var: 'price', x: 1 }, 1] }, /expected a value or a {"var"/],
  // the field
  [{ '==': [{ var: 'prcie' }, 1] }, /did you mean "price"\? allowed: id, name, .*got "prcie", at \/==\/0\/var/],
  [{ '==': [{ var: 'brand.country' }, 'FR'] }, /allowed: /],
  ...['', 'constructor', '__proto__', 'brand__name', 'Price', 'price.x', 'x'.repeat(10_000)].map(
    (field) => [{ '==': [{ var: field }, 1] }, /allowed: /] as const,
  ),
  [{ '==': [{ var: ['price'] }, 1] }, /expected the name of a field, got a list of 1/],
  [{ '==': [{ var: ['price', 0] }, 1] }, /name of a field/],
  [{ '==': [{ var: 0 }, 1] }, /name of a field/],
  [{ '==': [{ var: null }, 1] }, /name of a field/],
  // the value's type
  [{ '==': [{ var: 'stock' }, '1'] }, /"stock" must be an integer.*, got "1", at \/==\/1$/],
  [{ '==': [{ var: 'stock' }, 1.5] }, /"stock" must be/],
  [{ '==': [{ var: 'stock' }, true] }, /"stock" must be/],
  [{ '==': [{ var: 'stock' }, 2_147_483_648] }, /"stock" must be/],
  [{ '==': [{ var: 'stock' }, 1e20] }, /"stock" must be/],
  [{ '==': [{ var: 'active' }, 1] }, /"active" must be/],
  [{ '==': [{ var: 'active' }, 'true'] }, /"active" must be/],
  [{ '==': [name, 1] }, /"name" must be/],
  [{ '==': [name, true] }, /"name" must be/],
  [{ '==': [price, '10'] }, /"price" must be/],
  [{ '==': [{ var: 'kind' }, 'coffee'] }, /"kind" must be/],
  [{ '==': [{ var: 'made' }, 'soon'] }, /"made" must be/],
  [{ '==': [{ var: 'serial' }, 9_007_199_254_740_992] }, /"serial" must be/],
  [{ '<': [{ var: 'active' }, true] }, /type boolean, which cannot be compared/],
  [{ '==': [{ var: 'data' }, 'x'] }, /type json, which cannot be compared/],
  ['{"==":[{"var":"name"},"a\\u0000b"]}', /NUL/],
  ['{"in":["a\\u0000b",{"var":"name"}]}', /NUL/],
  ['{"==":[{"var":"name"},"\\ud800"]}', /well-formed/],
  ['{"in":[{"var":"name"},["\\udc00"]]}', /well-formed/],
  // null
  ...(['<', '<=', '>', '>='] as const).map(
    (operator) => [{ [operator]: [price, null] }, /only == and != compare/] as const,
  ),
  [{ in: [rating, [1, null]] }, /only == and != compare.*\/in\/1\/1/],
  [{ in: [null, name] }, /expected a text to search for, got null/],
  // in
  [{ in: [price, 5] }, /expected a list/],
  [{ in: [name, 'Green Tea'] }, /expected a list/],
  [{ in: [price, price] }, /no text to search in/],
  [{ in: [5, { var: 'stock' }] }, /"stock" holds no text to search in/],
  [{ in: ['te', { var: 'kind' }] }, /no text/],
  [{ in: [5, name] }, /expected a text to search for, got 5/],
  [{ in: ['a', ['a']] }, /one of the two operands must be a {"var": …}/],
  [{ in: [price, [['1']]] }, /expected a value/],
  [{ in: [price, ['1']] }, /"price" must be.*\/in\/1\/0/],
  [{ in: [{ var: 'data' }, []] }, /type json/],
  // a fault deep inside
  [{ and: [{ '==': [name, 'a'] }, { or: [{ '!': { '==': [price, 'x'] } }] }] }, /at \/and\/1\/or\/0\/!\/==/],
];

forEachDatabase(t, { entities }, async (t, orm) => {
  await fillCatalog(orm);
  const filter = new JsonLogicFilter(target(orm, { jsonLogicFields }));
  const apply = (rule: unknown) =>
    filter.apply(items(orm), new QueryParameters({ filter: typeof rule === 'string' ? rule : JSON.stringify(rule) }));

  for (const [rule, kept] of KEPT) {
    t.test(`keeps ${kept.join(', ') || 'none'}: ${JSON.stringify(rule)}`.slice(0, 200), async (t) => {
      t.same(await ids(apply(rule)), kept);
    });
  }

  t.test('an invalid rule returns 400 with the error and its place', async (t) => {
    for (const [rule, message] of REFUSED) {
      t.throws(
        () => apply(rule),
        { statusCode: 400, code: 'invalid_usage', message },
        JSON.stringify(rule)?.slice(0, 100),
      );
    }
    t.throws(() => apply({ '==': [{ var: 'active' }, 1] }), {
      message: 'Query parameter "filter" is not usable: "active" must be true or false, got 1, at /==/1',
      details: [{ in: 'query', path: '/filter' }],
    });
  });

  t.test(
    'the schema of the parameter accepts exactly the rules that the filter accepts, as far as a schema can express',
    async (t) => {
      const schema = filter.parameters[0]!.schema as { readonly contentSchema?: object };
      const fits = (rule: unknown): boolean => Check(schema.contentSchema!, rule);
      for (const [rule] of KEPT) t.ok(fits(rule), JSON.stringify(rule));
      for (const [rule] of REFUSED.filter(([each]) => typeof each !== 'string')) {
        t.notOk(fits(rule), JSON.stringify(rule)?.slice(0, 200));
      }
      const deep = { and: [{ or: [{ '!': [{ and: [{ '<': [1, price, 5] }] }] }] }] };
      t.ok(fits(deep), 'rules in rules');
      t.notOk(fits({ and: [{ or: [{ '!': [{ and: [{ '<': [1, price, 'x'] }] }] }] }] }));
    },
  );

  t.test("messages repeat only a short part of the client's input", async (t) => {
    try {
      apply({ '==': [{ var: 'x'.repeat(100_000) }, 1] });
      t.fail('was taken');
    } catch (error) {
      t.ok((error as Error).message.length < 500);
    }
  });

  t.test('operators nest 5 deep, comparisons included, and not 6', async (t) => {
    const leaf = { '==': [name, 'Cup'] };
    t.same(await ids(apply({ and: [{ or: [{ '!': { '!': leaf } }] }] })), [4]);
    t.throws(() => apply({ and: [{ or: [{ '!': { '!': { and: [leaf] } } }] }] }), {
      message: /nested more than 5 deep/,
    });
    t.throws(() => apply(`${'{"!":'.repeat(100_000)}1${'}'.repeat(100_000)}`), { message: /nested more than 5 deep/ });
    t.throws(() => apply(`${'['.repeat(100_000)}${']'.repeat(100_000)}`), InvalidUsage);
    t.throws(() => apply(`{"==":[{"var":"id"},${'['.repeat(100_000)}${']'.repeat(100_000)}]}`), InvalidUsage);
  });

  t.test('50 comparisons are taken, 51 are not', async (t) => {
    const rule = (count: number) => ({ or: Array.from({ length: count }, (_, id) => ({ '==': [{ var: 'id' }, id] })) });
    t.same(await ids(apply(rule(50))), [1, 2, 3, 4, 5]);
    t.throws(() => apply(rule(51)), { message: /more than 50 comparisons/ });
    t.throws(() => apply({ and: [rule(25), { or: [rule(26)] }] }), { message: /more than 50 comparisons/ });
  });

  t.test('a list of many values is one comparison', async (t) => {
    const many = Array.from({ length: 5000 }, (_, index) => index + 4);
    t.same(await ids(apply({ in: [{ var: 'id' }, many] })), [4, 5]);
  });

  t.test('an empty filter is absent, two are a 400', async (t) => {
    t.same(await ids(filter.apply(items(orm), query('filter='))), [1, 2, 3, 4, 5]);
    t.throws(() => filter.apply(items(orm), query('filter={}&filter={}')), { message: /given only once/ });
  });

  t.test(
    'the fields allowed are by default those that the filter fields reach and every read shape shows',
    async (t) => {
      const filterFields = {
        min_price: 'price__gte',
        max_price: 'price__lte',
        brand: 'brand__name__icontains',
        n: 'name',
      };
      t.same(new JsonLogicFilter(target(orm, { filterFields })).parameters, [], 'nobody says that any is shown');
      const isShown = ({ key }: { key: string }): boolean => key !== 'name';
      const byDefault = new JsonLogicFilter({ ...target(orm, { filterFields }), isShown });
      t.match(byDefault.parameters, [
        { name: 'filter', schema: { type: 'string', description: /: price, brand\.name$/ } },
      ]);
      const rule = { '==': [{ var: 'brand.name' }, 'Žen'] };
      t.same(await ids(byDefault.apply(items(orm), new QueryParameters({ filter: JSON.stringify(rule) }))), [3, 4]);
    },
  );

  t.test('without fields there is no filter parameter in the plan', async (t) => {
    t.same(new JsonLogicFilter(target(orm)).parameters, []);
    t.same(new JsonLogicFilter(target(orm, { jsonLogicFields: [], filterFields: { name: 'name' } })).parameters, []);
  });

  t.test('the parameter and the limits can be changed by a subclass', async (t) => {
    class Where extends JsonLogicFilter {
      override readonly parameter = 'where';
      override readonly maximumDepth = 1;
      override readonly maximumComparisons = 1;
    }
    const where = new Where(target(orm, { jsonLogicFields }));
    t.same(await ids(where.apply(items(orm), query('where={"==":[{"var":"id"},1]}'))), [1]);
    t.throws(() => where.apply(items(orm), query('where={"!":{"==":[{"var":"id"},1]}}')), {
      message: /"where".*more than 1 deep/,
    });
  });

  t.test('an unknown field fails at start', async (t) => {
    const make = (field: string) => () => new JsonLogicFilter(target(orm, { jsonLogicFields: [field] }));
    t.throws(make('prcie'), ImproperlyConfigured);
    t.throws(make('brand.nmae'), { message: /ItemViewSet: jsonLogicFields "brand\.nmae".*"name"/ });
    t.throws(make('brand__name'), ImproperlyConfigured);
  });
});
