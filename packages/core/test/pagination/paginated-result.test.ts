import fastify from 'fastify';
import t from 'tap';
import { Type, type Static } from 'typebox';
import { ImproperlyConfigured } from '../../src/errors/errors.ts';
import { PaginatedResult, pageEnvelope } from '../../src/pagination/paginated-result.ts';

const results = [{ id: 1 }, { id: 2 }];

t.test('its JSON is the page envelope, without the attributes page and page_size', async (t) => {
  const result = new PaginatedResult({ results, count: 23, page: 2, pageSize: 10 });
  t.equal(
    JSON.stringify(result),
    '{"count":23,"next":true,"previous":true,"results":[{"id":1},{"id":2}]}',
    'in the order of the specification',
  );
  t.equal(result.page, 2);
  t.equal(result.page_size, 10);
  t.same(Object.keys(result), ['count', 'next', 'previous', 'results']);
});

t.test('next and previous follow from the count and the page', async (t) => {
  const flags = (count: number, page: number, pageSize = 10) => {
    const { next, previous } = new PaginatedResult({ results: [], count, page, pageSize });
    return [next, previous];
  };
  t.same(flags(0, 1), [false, false]);
  t.same(flags(10, 1), [false, false], 'a full last page');
  t.same(flags(11, 1), [true, false]);
  t.same(flags(11, 2), [false, true]);
  t.same(flags(0, 2), [false, true], 'past the end of nothing');
  t.same(flags(5, 2_147_483_647, 100), [false, true], 'far past the end');
});

t.test('the page defaults to 1', async (t) => {
  t.equal(new PaginatedResult({ results, count: 2, pageSize: 10 }).page, 1);
});

t.test('extra fields are added to the envelope, in JSON and in the type', async (t) => {
  const result = new PaginatedResult({ results, count: 2, pageSize: 10, extra: { keyword: 'tea' } });
  const keyword: string = result.keyword;
  t.equal(keyword, 'tea');
  t.match(JSON.stringify(result), /"keyword":"tea"}$/);
});

t.test('its type is that of the envelope schema', async (t) => {
  const schema = Type.Object({
    count: Type.Integer(),
    next: Type.Boolean(),
    previous: Type.Boolean(),
    results: Type.Array(Type.Object({ id: Type.Integer() })),
    keyword: Type.String(),
  });
  const envelope: Static<typeof schema> = new PaginatedResult({
    results,
    count: 2,
    pageSize: 2,
    extra: { keyword: 'a' },
  });
  // @ts-expect-error the keyword is missing
  const incomplete: Static<typeof schema> = new PaginatedResult({ results, count: 2, pageSize: 2 });
  t.not(envelope, incomplete);
});

t.test('a further field must not take the place of the envelope', async (t) => {
  for (const name of ['count', 'next', 'previous', 'results', 'page', 'page_size', '__proto__', 'constructor']) {
    const extra = JSON.parse(`{"${name}":1}`) as object;
    t.throws(() => new PaginatedResult({ results, count: 2, pageSize: 10, extra }), ImproperlyConfigured, name);
  }
});

t.test('numbers that are not integers or too small are rejected by name', async (t) => {
  t.throws(() => new PaginatedResult({ results, count: -1, pageSize: 10 }), { message: /"count".*-1/ });
  t.throws(() => new PaginatedResult({ results, count: 1.5, pageSize: 10 }), { message: /"count"/ });
  t.throws(() => new PaginatedResult({ results, count: 1, page: 0, pageSize: 10 }), { message: /"page"/ });
  t.throws(() => new PaginatedResult({ results, count: 1, pageSize: 0 }), { message: /"pageSize"/ });
  t.throws(() => new PaginatedResult({ results, count: '3' as never, pageSize: 10 }), ImproperlyConfigured);
});

t.test('a compiled serializer writes it', async (t) => {
  const app = fastify();
  t.teardown(() => app.close());
  const item = Type.Object({ id: Type.Integer() });
  const withKeyword = Type.Object({
    ...(pageEnvelope(item) as { properties: object }).properties,
    keyword: Type.String(),
  });
  const result = new PaginatedResult({ results, count: 23, page: 2, pageSize: 10, extra: { keyword: 'tea' } });
  app.get('/plain', { schema: { response: { 200: pageEnvelope(item) } } }, async () => result);
  app.get('/extra', { schema: { response: { 200: withKeyword } } }, async () => result);
  const envelope = { count: 23, next: true, previous: true, results };
  t.same((await app.inject('/plain')).json(), envelope);
  t.same((await app.inject('/extra')).json(), { ...envelope, keyword: 'tea' });
});

t.test('without a count, next is required', async (t) => {
  const result = new PaginatedResult({ results, count: null, next: true, page: 2, pageSize: 2 });
  const count: null = result.count;
  t.equal(count, null);
  t.equal(JSON.stringify(result), '{"count":null,"next":true,"previous":true,"results":[{"id":1},{"id":2}]}');
  t.throws(() => new PaginatedResult({ results, count: null, pageSize: 2 }), {
    name: 'ImproperlyConfigured',
    message: /"next" must be a boolean where there is no count/,
  });
  t.equal(new PaginatedResult({ results, count: 9, next: false, pageSize: 2 }).next, false, 'said beats counted');
});
