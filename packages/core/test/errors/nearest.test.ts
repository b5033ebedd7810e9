import t from 'tap';
import { nearest } from '../../src/errors/nearest.ts';

t.test('finds the name that was meant', async (t) => {
  t.equal(nearest('nmae', ['id', 'name', 'price']), 'name');
  t.equal(nearest('pric', ['id', 'name', 'price']), 'price');
  t.equal(nearest('Price', ['id', 'name', 'price']), 'price');
  t.equal(nearest('qq', ['q']), 'q');
  t.equal(nearest('ttl', ['id', 'title']), 'title');
  t.equal(nearest('role__nmae', ['role__id', 'role__name']), 'role__name');
});

t.test('finds nothing where nothing is close', async (t) => {
  t.equal(nearest('colour', ['id', 'name', 'price']), undefined);
  t.equal(nearest('xy', ['id']), undefined);
  t.equal(nearest('x', ['y']), undefined);
  t.equal(nearest('page', ['tag']), undefined);
  t.equal(nearest('', ['id']), undefined);
  t.equal(nearest('name', []), undefined);
});

t.test('the maximum distance can be set', async (t) => {
  t.equal(nearest('performDelete', ['performCreate']), 'performCreate');
  t.equal(nearest('performDelete', ['performCreate'], 2), undefined);
  t.equal(nearest('getQuerySet', ['getQueryset'], 1), 'getQueryset');
});

t.test('is bounded for endless names', async (t) => {
  t.equal(nearest('x'.repeat(1e6), ['y'.repeat(1e6)]), undefined);
});
