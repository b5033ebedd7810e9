/** A value that the type of a column refuses is the client's fault, whatever the type is; a value of the program is not. */
import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import { MikroORM as PostgreSqlORM } from '@mikro-orm/postgresql';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
import { administrate, createPostgreSqlDatabase, skipPostgreSql } from '../support/databases.ts';
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
    tree: p.string().columnType('ltree').nullable(),
    tags: p.string().columnType('hstore').nullable(),
    note: p.string().columnType('xml').nullable(),
  },
});
const fields = ['address', 'network', 'card', 'ports', 'seen', 'price', 'mask', 'tree', 'tags'] as const;
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
  write: writeShape(Host, ['tree', 'tags', 'note']),
  operations: ['list', 'update'],
  queryMethod: true,
}) {}
class BareViewSet extends ModelViewSet(Host, { ...options, pagination: null }) {}
class MistakenViewSet extends ModelViewSet(Host, options) {
  override getQueryset(request: FastifyRequest) {
    return super.getQueryset(request).filter({ address: 'no address' });
  }
}

/** Makes the extensions that its columns need before its table. */
const EXTENSIONS = ['create extension if not exists ltree', 'create extension if not exists hstore'];

t.test('on PostgreSQL', { skip: skipPostgreSql() }, async (t) => {
  const clientUrl = await createPostgreSqlDatabase(t);
  for (const extension of EXTENSIONS) await administrate(clientUrl, extension);
  const orm = (await PostgreSqlORM.init({ clientUrl, entities: [Host] })) as unknown as MikroORM;
  t.teardown(() => orm.close(true));
  await orm.schema.create();
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
    tree: 'a.b',
    tags: 'a=>1',
  });
  const router = new Router()
    .register('hosts', HostViewSet)
    .register('bare', BareViewSet)
    .register('mistaken', MistakenViewSet);
  const app = await testApp(t, orm, [router]);

  t.test('every value that fits matches, and others return 400 with the parameter', async (t) => {
    const right = {
      address: '10.0.0.1',
      network: '10.0.0.0/8',
      card: '08:00:2b:01:02:03',
      ports: '[1,10)',
      price: '$5.00',
      mask: '1010',
      tree: 'a.b',
      tags: 'a=>1',
    };
    for (const path of ['hosts', 'bare']) {
      for (const [name, value] of Object.entries(right)) {
        const found = await app.inject({ url: `/${path}`, query: { [name]: value } });
        t.match(found, { statusCode: 200 }, `${name}: ${found.body}`);
        for (const wrong of [{ [name]: 'x y' }, { [`${name}_in`]: `x y,${name}` }]) {
          const refused = await app.inject({ url: `/${path}`, query: wrong });
          t.equal(refused.statusCode, 400, refused.body);
          const details = [
            { in: 'query', path: `/${Object.keys(wrong)[0]}`, message: 'does not fit the type of its field' },
          ];
          t.strictSame(refused.json().details, details);
        }
      }
    }
  });

  t.test('all invalid parameters are named, and no others', async (t) => {
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

  t.test('a value of a body is refused in the same way', async (t) => {
    for (const [field, wrong] of Object.entries({ tree: 'x y', tags: 'x y', note: '<' })) {
      const refused = await app.inject({ method: 'PATCH', url: '/hosts/1', payload: { [field]: wrong } });
      t.equal(refused.statusCode, 400, refused.body);
    }
  });

  t.test('a comparison of a type without comparisons fails at start, and a search in its text does not', async (t) => {
    const lookups = { place: 'exact', note: 'in', tags: 'gt' };
    for (const [field, lookup] of Object.entries(lookups)) {
      const filterFields = { q: `${field}__${lookup}` } as never;
      class WrongViewSet extends ModelViewSet(Host, { ...options, filterFields }) {}
      await t.rejects(testApp(t, orm, [new Router().register('wrong', WrongViewSet)]), {
        message: new RegExp(`"${field}" is of type (?:point|xml|hstore), which has no "${lookup}"`),
      });
    }
    const texts = { place: 'place__contains', note: 'note__icontains', is_null: 'note__isnull' } as const;
    const jsonLogicFields = ['note'] as const;
    class TextViewSet extends ModelViewSet(Host, { ...options, filterFields: texts, jsonLogicFields }) {}
    const texted = await testApp(t, orm, [new Router().register('texts', TextViewSet)]);
    for (const query of ['place=1', 'note=x', 'is_null=true', 'filter={"in":["x",{"var":"note"}]}']) {
      t.equal((await texted.inject(`/texts?${query}`)).statusCode, 200, query);
    }
    t.equal((await texted.inject('/texts?filter={"==":[{"var":"note"},"x"]}')).statusCode, 400);
  });

  t.test('an order by a type without an order fails at start', async (t) => {
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
