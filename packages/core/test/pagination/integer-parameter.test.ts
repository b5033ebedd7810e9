import t from 'tap';
import { InvalidUsage } from '../../src/errors/errors.ts';
import { QueryParameters } from '../../src/http/parameters.ts';
import { integerParameter, MAX_INTEGER } from '../../src/pagination/paginator.ts';

const read = (page: unknown, minimum: 0 | 1 = 1, maximum = MAX_INTEGER) =>
  integerParameter(new QueryParameters({ page }), 'page', { minimum, maximum, default: 7 });

t.test('canonical decimal integers up to 2147483647 are read', async (t) => {
  t.equal(read('1'), 1);
  t.equal(read('10'), 10);
  t.equal(read('2147483647'), 2_147_483_647);
  t.equal(read('0', 0), 0);
});

t.test('an absent or empty value is the default', async (t) => {
  t.equal(read(undefined), 7);
  t.equal(read(''), 7);
});

t.test('any other value returns 400 with the parameter and the expected value', async (t) => {
  const wrong = ['0', '-1', '-0', '+1', '01', '00', '1.0', '1.', '.5', '1e2', ' 1', '1 ', '1_000', '0x10', 'a', 'null'];
  for (const text of [...wrong, '2147483648', '99999999999', '9'.repeat(400), 'Infinity', 'NaN', '１', '1\n', '1,2']) {
    t.throws(() => read(text), InvalidUsage, JSON.stringify(text));
  }
  t.throws(() => read('x'), {
    message: 'Query parameter "page" must be a positive integer up to 2147483647',
    details: [{ in: 'query', path: '/page', message: 'must be a positive integer up to 2147483647' }],
  });
  t.throws(() => read('-1', 0), { message: /must be a non-negative integer up to 2147483647/ });
  t.equal(read('20', 1, 20), 20);
  t.throws(() => read('21', 1, 20), { message: /must be a positive integer up to 20$/ });
  t.throws(() => read(['1', '2']), { message: /must be given only once/ });
  t.throws(() => read('1\0'), { message: /NUL/ });
});
