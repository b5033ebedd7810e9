import { defineEntity, EventType, p, type EventArgs, type EventSubscriber, type InferEntity } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t, { type Test } from 'tap';
import {
  ModelViewSet,
  Permission,
  type PermissionClass,
  type PermissionView,
  type QuerySet,
  readShape,
  Router,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { Publisher, testApp } from '../../support/library.ts';

/** A field of every kind that a row can be written with. */
const Article = defineEntity({
  name: 'Article',
  properties: {
    id: p.integer().primary(),
    code: p.string().length(20).unique(),
    body: p.text().nullable(),
    price: p.decimal('number').precision(10).scale(2).default(1.5),
    weight: p.double().nullable(),
    views: p.bigint('string').default('0'),
    is_open: p.boolean().default(true),
    published_at: p.datetime().length(3).nullable(),
    mood: p.enum(['good', 'bad'] as const).nullable(),
    key: p.uuid().nullable(),
    publisher: () => p.manyToOne(Publisher).nullable(),
  },
});

const FIELDS = ['code', 'body', 'price', 'weight', 'views', 'is_open', 'published_at', 'mood', 'key'] as const;
const read = readShape(Article, ['id', ...FIELDS]);
const write = writeShape(Article, [...FIELDS]);

class OfNorth extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<InferEntity<typeof Article>>(view, { publisher__name: 'North' });
  }
}

class IsOpen extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<InferEntity<typeof Article>>(view, { is_open: true });
  }
}

function rowView(...permissionClasses: PermissionClass[]) {
  return class RowViewSet extends ModelViewSet(Article, { read, write, permissionClasses }) {};
}

/** The same, with hooks that want entities. */
function entityView(...permissionClasses: PermissionClass[]) {
  return class EntityViewSet extends ModelViewSet(Article, { read, write, permissionClasses }) {
    override performCreate(...args: Parameters<InstanceType<ReturnType<typeof rowView>>['performCreate']>) {
      return super.performCreate(...args);
    }
    override performUpdate(...args: Parameters<InstanceType<ReturnType<typeof rowView>>['performUpdate']>) {
      return super.performUpdate(...args);
    }
    override performDestroy(...args: Parameters<InstanceType<ReturnType<typeof rowView>>['performDestroy']>) {
      return super.performDestroy(...args);
    }
  };
}

const FULL = {
  code: 'full',
  body: 'quotes \' and " and \\ and emoji 🌍',
  price: 99999999.99,
  weight: 0.1,
  views: '9007199254740993',
  is_open: false,
  published_at: '2026-02-28T23:59:59.123Z',
  mood: 'bad',
  key: '3f333df6-90a4-4fda-8dd3-9485d27cee36',
};

/** Method, path below the view, body. Each runs on what the ones before have left. */
const REQUESTS: readonly (readonly [
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
])[] = [
  ['POST', '', { code: 'least' }],
  ['POST', '', FULL],
  ['POST', '', { ...FULL, code: 'nulls', body: null, weight: null, published_at: null, mood: null, key: null }],
  ['POST', '', { code: 'least' }],
  ['POST', '', { code: 'x', price: 0.001 }],
  ['POST', '', { code: 'offset', published_at: '2026-03-01T01:00:00+02:00', id: 77 }],
  ['PATCH', '/1', { price: 2.25 }],
  ['PATCH', '/1', {}],
  ['PATCH', '/1', { id: 50, body: 'kept' }],
  ['PATCH', '/2', { code: 'least' }],
  ['PUT', '/1', { code: 'put', price: 3 }],
  ['PUT', '/1', { price: 3 }],
  ['PATCH', '/99', { price: 2 }],
  ['PATCH', '/1', { is_open: false }],
  ['GET', '/1'],
  ['DELETE', '/3'],
  ['DELETE', '/3'],
  ['DELETE', '/99'],
  ['GET', '?page_size=100'],
];

const statements: string[] = [];
const orm = { debug: ['query' as const], logger: (line: string) => statements.push(line) };

forEachDatabase(t, { entities: [Article, Publisher], orm, onLibSql: true }, async (t, orm) => {
  const answers = async (t: Test, View: ReturnType<typeof rowView>, requests = REQUESTS) => {
    await orm.schema.refresh();
    const em = orm.em.fork();
    const [north, south] = [em.create(Publisher, { name: 'North' }), em.create(Publisher, { name: 'South' })];
    await em.flush();
    const app = await testApp(t, orm, [new Router().register('articles', View)]);
    await app.inject('/articles');
    const bodies = [];
    for (const [method, path, payload] of requests) {
      const response = await app.inject({ method, url: `/articles${path}`, ...(payload !== undefined && { payload }) });
      bodies.push([method, path, response.statusCode, response.headers['location'], response.body]);
      if (method === 'POST' && response.statusCode === 201) {
        const { id } = response.json();
        await orm.em.fork().nativeUpdate(Article, { id }, { publisher: id % 2 === 1 ? north : south });
      }
    }
    return bodies;
  };

  t.test('a write as a row and a write through the unit of work are the same from outside', async (t) => {
    const rows = await answers(t, rowView());
    t.same(rows, await answers(t, entityView()));
    t.same(
      rows.map(([, , status]) => status),
      [201, 201, 201, 409, 400, 201, 200, 200, 200, 409, 200, 400, 404, 200, 200, 204, 404, 404, 200],
    );
  });

  t.test('under a scope, of the record itself or of a related one', async (t) => {
    for (const scope of [IsOpen, OfNorth, OfNorth.or(IsOpen), OfNorth.not()]) {
      const rows = await answers(t, rowView(scope));
      t.same(rows, await answers(t, entityView(scope)), scope.name);
    }
  });

  t.test('each write is one statement if no hook needs an entity', async (t) => {
    await answers(t, rowView(), []);
    const app = await testApp(t, orm, [new Router().register('articles', rowView())]);
    await app.inject('/articles');
    const count = async (method: 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
      statements.length = 0;
      const response = await app.inject({ method, url, ...(payload && { payload }) });
      t.ok(response.statusCode < 300, response.body);
      return statements.length;
    };
    t.equal(await count('POST', '/articles', { code: 'one' }), 1);
    t.equal(await count('PATCH', '/articles/1', { price: 2 }), 1);
    t.equal(await count('DELETE', '/articles/1'), 1);
  });

  t.test('a subscriber sees every write', async (t) => {
    await answers(t, rowView(), []);
    const seen: string[] = [];
    const subscriber: EventSubscriber = {
      getSubscribedEntities: () => [Article],
      async beforeCreate({ entity }: EventArgs<object>) {
        seen.push(EventType.beforeCreate);
        (entity as { body: string }).body = 'set by a subscriber';
      },
      async afterDelete() {
        seen.push(EventType.afterDelete);
      },
    };
    orm.em.getEventManager().registerSubscriber(subscriber);
    const app = await testApp(t, orm, [new Router().register('articles', rowView())]);
    await app.inject('/articles');
    const created = await app.inject({ method: 'POST', url: '/articles', payload: { code: 'seen' } });
    t.equal(created.json().body, 'set by a subscriber');
    t.equal((await app.inject({ method: 'DELETE', url: `/articles/${created.json().id}` })).statusCode, 204);
    t.same(seen, [EventType.beforeCreate, EventType.afterDelete]);
  });
});

t.test('the types that hooks receive', async () => {
  class Typed extends ModelViewSet(Article, { read, write }) {
    override async filterQueryset(request: FastifyRequest, queryset: QuerySet<InferEntity<typeof Article>>) {
      return (await super.filterQueryset(request, queryset)).filter({ is_open: true });
    }
  }
  void Typed;
});
