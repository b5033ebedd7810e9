/** Lists in a URL: they are split at the commas as sent, and each value is then decoded. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { ModelViewSet, PageNumberPagination, readShape, Router } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Country = defineEntity({
  name: 'Country',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(40),
    places: () => p.oneToMany(Place).mappedBy('country'),
  },
});
const Place = defineEntity({
  name: 'Place',
  properties: {
    id: p.integer().primary(),
    slug: p.string().length(40).unique(),
    city: p.string().length(40),
    size: p.enum(['small', 'large, by far']),
    form: p.enum(['round', 'square']),
    since: p.date(),
    country: () => p.manyToOne(Country),
  },
});
const names = ['id', 'city', 'size', 'form', 'since'] as const;

class LinkedPages extends PageNumberPagination {
  override readonly links = true;
}
class PlaceViewSet extends ModelViewSet(Place, {
  read: readShape(Place, names),
  lookupField: 'slug',
  pagination: LinkedPages,
  operations: ['list', 'destroy'],
  filterFields: {
    ids: 'id__in',
    cities: 'city__in',
    from_to: 'city__range',
    sizes: 'size__in',
    forms: 'form__in',
    since: 'since__range',
    countries: 'country__name__in',
    city: 'city',
  },
  orderingFields: { city: 'city', id: 'id' },
  expand: { country: readShape(Country, ['name']) },
  fields: true,
  summary: { group: ['size', 'form'], values: { since: ['min', 'max'] } },
  bulk: { destroy: 10 },
  queryMethod: true,
}) {}

forEachDatabase(t, { entities: [Country, Place] }, async (t, orm) => {
  const em = orm.em.fork();
  const country = em.create(Country, { id: 1, name: 'Korea, South' });
  const rows = ['Washington,D.C.', 'Washington', 'D.C.', 'Bern', '100%'];
  for (const [index, city] of rows.entries()) {
    const size = index === 0 ? 'large, by far' : 'small';
    em.create(Place, {
      id: index + 1,
      slug: `p,${index + 1}`,
      city,
      size,
      form: 'round',
      since: '2020-01-01',
      country,
    });
  }
  await em.flush();
  const app = await testApp(t, orm, [new Router().register('places', PlaceViewSet)]);
  const get = (search: string) => app.inject(`/places${search}`);
  const found = async (search: string): Promise<unknown> => {
    const answer = await get(search);
    return answer.statusCode === 200 ? answer.json().results.map(({ id }: { id: number }) => id) : answer.statusCode;
  };

  t.test('an encoded comma belongs to a value', async (t) => {
    t.same(await found('?cities=Washington%2CD.C.'), [1]);
    t.same(await found('?cities=Washington%2cD.C.,Bern'), [1, 4]);
    t.same(await found('?cities=Washington,D.C.'), [2, 3]);
    t.same(await found('?sizes=large%2C%20by%20far'), [1]);
    t.same(await found('?sizes=small,large%2C+by+far&page_size=9'), [1, 2, 3, 4, 5]);
    t.same(await found('?countries=Korea%2C+South'), [1, 2, 3, 4, 5]);
    t.same(await found('?city=Washington%2CD.C.&city=Bern'), [1, 4], 'a repeated parameter is no list');
    t.same(await found('?city=Washington,D.C.'), [1]);
  });

  t.test('an encoded comma belongs to a value of a range, which has two values', async (t) => {
    t.same(await found('?from_to=Washington,Washington%2CD.C.'), [1, 2]);
    t.equal(await found('?from_to=A%2CB'), 400);
  });

  t.test('an encoded comma separates values that cannot have one, as many clients encode all', async (t) => {
    t.same(await found('?ids=1%2C3'), [1, 3]);
    t.same(await found('?forms=round%2Csquare'), [1, 2, 3, 4, 5]);
    t.same(await found('?since=2019-01-01%2C2021-01-01'), [1, 2, 3, 4, 5]);
    t.same(await found('?sort=-city%2Cid&ids=1,2'), [1, 2]);
    const { results } = (await get('?fields=id%2Ccity&expand=country&ids=1')).json();
    t.same(results, [{ id: 1, city: 'Washington,D.C.' }]);
    t.match((await get('/summary?group=size%2Cform&min=since')).json().results, { length: 2 });
  });

  t.test('a name of a parameter may be encoded, and malformed encoding stays as it is', async (t) => {
    t.same(await found('?%63ities=Washington%2CD.C.'), [1]);
    t.same(await found('?cities=100%,Bern'), [4, 5]);
    t.equal(await found('?cities=Bern&cities=Washington%2CD.C.'), 400);
  });

  t.test('links to other pages keep it', async (t) => {
    const { headers } = await get('?cities=Washington%2CD.C.,Bern&page_size=1');
    t.match(headers['link'], /<\?cities=Washington%2CD\.C\.,Bern&page_size=1&page=2>; rel="next"/);
  });

  t.test('a list in the body of a QUERY is split already', async (t) => {
    const ask = async (body: object) => {
      const answer = await app.inject({ method: 'QUERY' as 'GET', url: '/places', payload: body });
      return answer.statusCode === 200 ? answer.json().results.map(({ id }: { id: number }) => id) : answer.json();
    };
    t.same(await ask({ cities: ['Washington,D.C.', 'Bern'] }), [1, 4]);
    t.same(await ask({ cities: 'Washington,Bern' }), [2, 4]);
    t.same(await ask({ sizes: ['large, by far'] }), [1]);
    t.match(await ask({ cities: ['a\u0000,b'] }), { error: /NUL/ });
    t.match(await ask({ cities: ['a\ud800,b'] }), { error: /Unicode/ });
  });

  t.test('keys of records to delete', async (t) => {
    const remove = async (keys: string) =>
      (await app.inject({ method: 'DELETE', url: `/places?pk=${keys}` })).statusCode;
    t.equal(await remove('p,4'), 404);
    t.equal(await remove('p%2C4,p%2C5'), 204);
    t.same(await found(''), [1, 2, 3]);
  });
});
