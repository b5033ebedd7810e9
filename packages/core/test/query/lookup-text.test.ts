import { MikroORM } from '@mikro-orm/sqlite';
import t from 'tap';
import { parseLookupText, resolveLookup } from '../../src/query/language/resolve-lookup.ts';
import { entities, Product } from './catalog.ts';

const orm = new MikroORM({ dbName: ':memory:', entities });
const meta = orm.getMetadata().get(Product);
const parse = (name: string, text: string) => parseLookupText(resolveLookup(meta, name), text);

t.test('the text of a parameter becomes a condition', async (t) => {
  t.match(parse('price__gte', '10.50'), { kind: 'compare', lookup: 'gte', value: '10.50' });
  t.match(parse('stock__in', '1,2,3'), { lookup: 'in', value: [1, 2, 3] });
  t.match(parse('stock__range', '1,5'), { lookup: 'range', value: [1, 5] });
  t.match(parse('note__isnull', 'true'), { lookup: 'isnull', value: true });
  t.match(parse('color', 'red'), { lookup: 'exact', value: 'red' });
  t.match(parse('name__in', 'a,b c,'), { lookup: 'in', value: ['a', 'b c', ''] });
  t.match(parse('name__icontains', 'a,b'), { lookup: 'icontains', value: 'a,b' });
});

t.test('a text that does not fit is refused', async (t) => {
  const wrong: [string, string, RegExp][] = [
    ['price__gte', 'cheap', /must be a decimal number/],
    ['stock__in', '1,x', /must be an integer/],
    ['stock__in', '1,,2', /must be an integer/],
    ['stock__in', '2147483648', /between/],
    ['stock__range', '1', /must be two values, separated by a comma/],
    ['stock__range', '1,2,3', /must be two values/],
    ['stock__range', '1,x', /must be an integer/],
    ['note__isnull', 'yes', /must be true or false/],
    ['added__lt', 'yesterday', /must be a date and time/],
    ['color', 'pink', /must be one of: red, green, blue/],
  ];
  for (const [name, text, message] of wrong) {
    t.throws(() => parse(name, text), { name: 'FieldValueError', message }, `${name}=${text}`);
  }
});
