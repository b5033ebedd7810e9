import t from 'tap';
import { DEFAULT_FILTERS } from '../../src/filters/default-filters.ts';

t.test('search, JSON Logic, query parameter, ordering, in this order', async (t) => {
  t.same(
    DEFAULT_FILTERS.map(({ name }) => name),
    ['SearchFilter', 'JsonLogicFilter', 'QueryParameterFilter', 'OrderingFilter'],
  );
  t.ok(Object.isFrozen(DEFAULT_FILTERS));
});
