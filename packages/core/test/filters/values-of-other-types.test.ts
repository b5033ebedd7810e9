/** A value that the type of a column refuses is the client's fault, whatever the type is; a value of the program is not. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { ModelViewSet, readShape, Router } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Host = defineEntity({
  name: 'Host',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20),
    address: p.string().columnType('inet'),
    network: p.string().columnType('cidr'),
    card: p.string().columnType('macaddr'),
    ports: p.string().columnType('int4range'),
    seen: p.string().columnType('tstzrange').nullable(),
    price: p.string().columnType('money'),
    state: p.enum(['up', 'down']).nativeEnumName('host_state'),
    mask: p.string().columnType('bit(4)'),
    place: p.string().columnType('point').nullable(),
  },
});
const fields = ['address', 'network', 'card', 'ports', 'seen', 'price', 'mask'] as const;
const options = {
  read: readShape(Host, ['id', ...fields]),
  filterFields: Object.fromEntries(
    fields.flatMap((field) => [
      [field, field],
      [`${field}_in`, `${field}__in`],
    ]),
  ) as Record<string, 'address'>,
};
class HostViewSet extends ModelViewSet(Host, {
  ...options,
  searchFields: ['name'],
  exports: ['csv'],
  queryMethod: true,
}) {}
class BareViewSet extends ModelViewSet(Host, { ...options, pagination: null }) {}
class MistakenViewSet extends ModelViewSet(Host, options) {
  override getQueryset(request: FastifyRequest) {
    return super.getQueryset(request).filter({ address: 'no address' });
  }
}

forEachDatabase(t, { entities: [Host], only: ['postgresql'] }, async (t, orm) => {
  await orm.em.fork().insert(Host, {
    name: 'one',
    address: '10.0.0.1',
    network: '10.0.0.0/8',
    card: '08:00:2b:01:02:03',
    ports: '[1,10)',
    seen: null,
    price: '$5.00',
    state: 'up',
    mask: '1010',
  });
  const router = new Router()
    .register('hosts', HostViewSet)
    .register('bare', BareViewSet)
    .register('mistaken', MistakenViewSet);
  const app = await testApp(t, orm, [router]);

  t.test('each value that fits finds, and each that does not is a 400 that names its parameter', async (t) => {
    const right = {
      address: '10.0.0.1',
      network: '10.0.0.0/8',
      card: '08:00:2b:01:02:03',
      ports: '[1,10)',
      price: '$5.00',
      mask: '1010',
    };
    for (const path of ['hosts', 'bare']) {
      for (const [name, value] of Object.entries(right)) {
        const found = await app.inject({ url: `/${path}`, query: { [name]: value } });
        t.match(found, { statusCode: 200 }, `${name}: ${found.body}`);
        for (const wrong of [{ [name]: 'x y' }, { [`${name}_in`]: `x y,${name}` }]) {
          const refused = await app.inject({ url: `/${path}`, query: wrong });
          t.equal(refused.statusCode, 400, refused.body);
          const details = [{ in: 'query', path: `/${Object.keys(wrong)[0]}`, message: 'is no value of its field' }];
          t.strictSame(refused.json().details, details);
        }
      }
    }
  });

  t.test('all parameters at fault are named, and no other', async (t) => {
    const query = { address: 'x', ports: 'y', price: '$5.00', search: 'one', page_size: '3' };
    const refused = await app.inject({ url: '/hosts', query });
    t.equal(refused.statusCode, 400);
    t.same(
      refused.json().details.map(({ path }: { path: string }) => path),
      ['/address', '/ports'],
    );
    const exported = await app.inject({ url: '/hosts', query: { address: 'x' }, headers: { accept: 'text/csv' } });
    t.equal(exported.statusCode, 400, 'an export');
    const asked = await app.inject({ method: 'QUERY' as 'GET', url: '/hosts', payload: { address: 'x' } });
    t.equal(asked.statusCode, 400, 'QUERY');
  });

  t.test('an order by a type that has none stops the start', async (t) => {
    class PlacesViewSet extends ModelViewSet(Host, { ...options, orderingFields: { place: 'place' } }) {}
    await t.rejects(testApp(t, orm, [new Router().register('places', PlacesViewSet)]), {
      message: /Host cannot be ordered by "place": "point" has no order/,
    });
  });

  t.test('a value of the program is an error of the server', async (t) => {
    t.equal((await app.inject('/mistaken')).statusCode, 500);
    t.equal((await app.inject('/mistaken?address=10.0.0.1')).statusCode, 500);
  });
});
