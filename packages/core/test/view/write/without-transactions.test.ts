/** An ORM without transactions (`disableTransactions`): a MongoDB that stands alone has none. */
import { defineEntity, type InferEntity, type MikroORM, p } from '@mikro-orm/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import t, { type Test } from 'tap';
import {
  action,
  inTransaction,
  many,
  ModelViewSet,
  nested,
  Permission,
  readShape,
  refs,
  Router,
  UnprocessableEntity,
  type ViewSet,
  type WriteData,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';
import { withMongoServer } from '../../support/with-mongo-server.ts';

const Kind = defineEntity({ name: 'Kind', properties: { id: p.integer().primary(), name: p.string().length(20) } });
const Item = defineEntity({
  name: 'Item',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20).unique(),
    stock: p.integer().default(3),
    note: p.string().length(20).nullable(),
  },
});
const Part = defineEntity({
  name: 'Part',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20),
    data: p.json<object>().nullable(),
    kind: () => p.manyToOne(Kind).nullable(),
    kinds: () => p.manyToMany(Kind),
    pieces: () => p.oneToMany(Piece).mappedBy('part'),
  },
});
const Piece = defineEntity({
  name: 'Piece',
  properties: { id: p.integer().primary(), name: p.string().length(20), part: () => p.manyToOne(Part) },
});
const Versioned = defineEntity({
  name: 'Versioned',
  properties: { id: p.integer().primary(), name: p.string().length(20), version: p.integer().version() },
});
const Hidden = defineEntity({
  name: 'Hidden',
  properties: { id: p.integer().primary(), name: p.string().length(20), gone: p.boolean().default(false) },
  filters: { there: { name: 'there', cond: { gone: false }, default: true } },
});
/** Refers to a kind that nobody promises to be there. */
const Loose = defineEntity({
  name: 'Loose',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20),
    item: () => p.manyToOne(Item).nullable().createForeignKeyConstraint(false),
  },
});
const ENTITIES = [Kind, Item, Part, Piece, Versioned, Hidden, Loose];

const read = readShape(Item, ['id', 'name', 'stock']);
const write = writeShape(Item, ['name', 'stock', 'note']);
class Items extends ModelViewSet(Item, { read, write, filterFields: { min: 'stock__gte' } }) {
  rest = action({ detail: true, methods: ['post'], transaction: false }, async (request: FastifyRequest) => {
    const { name } = await this.getObject(request);
    return { name };
  });
}

class Owners extends Permission {
  override hasObjectPermission() {
    return true;
  }
}
class Scoped extends Permission {
  override scope(_request: FastifyRequest, view: Parameters<Permission['scope']>[1]) {
    return this.records<InferEntity<typeof Item>>(view, { stock__gte: 1 });
  }
}

type ItemData = WriteData<InferEntity<typeof Item>, { name: string; stock?: number; note?: string | null }>;

const kinds = { read: readShape(Kind, ['id', 'name']), write: writeShape(Kind, ['name']) };
const parts = { read: readShape(Part, ['id', 'name']), operations: ['create'] } as const;

class Once extends ModelViewSet(Item, { read, write, operations: ['update'] }) {
  override async update(request: FastifyRequest, reply: FastifyReply) {
    return super.update(request, reply);
  }
  override performUpdate(request: FastifyRequest, item: InferEntity<typeof Item>, data: Partial<ItemData>) {
    return super.performUpdate(request, item, data);
  }
}

/** Views that need a transaction, and the beginning and a part of the refusal. */
const REFUSED: readonly (readonly [string, new () => ViewSet, RegExp])[] = [
  [
    'a hook',
    class Hooked extends ModelViewSet(Item, { read, write }) {
      override performCreate(request: FastifyRequest, data: ItemData) {
        return super.performCreate(request, data);
      }
    },
    /^Hooked\.create \(Hooked overrides performCreate\) needs a transaction, but the ORM has none \(disableTransactions\)$/,
  ],
  [
    'rules',
    class Ruled extends ModelViewSet(Item, { read, write, validate: () => undefined }) {},
    /^Ruled\.create \(the view has rules: validate\)/,
  ],
  [
    'a reference',
    class Referring extends ModelViewSet(Part, { ...parts, write: writeShape(Part, ['name', 'kind']) }) {},
    /^Referring\.create \("kind" is not a plain column of Part\)/,
  ],
  [
    'references to many',
    class Sets extends ModelViewSet(Part, { ...parts, write: writeShape(Part, ['name'], { kinds: refs('kinds') }) }) {},
    /^Sets\.create \("kinds" is not a plain column of Part\)/,
  ],
  [
    'children',
    class Nested extends ModelViewSet(Part, {
      ...parts,
      write: writeShape(Part, ['name'], { pieces: nested(writeShape(Piece, ['name'])) }),
    }) {},
    /^Nested\.create \("pieces" is not a plain column of Part\)/,
  ],
  [
    'an answer with related records',
    class Shown extends ModelViewSet(Part, {
      read: readShape(Part, ['id'], { kinds: many('kinds.name') }),
      write: writeShape(Part, ['name']),
      operations: ['update'],
    }) {},
    /^Shown\.update \(the response shows the records of "kinds"/,
  ],
  [
    'an answer that clients expand',
    class Expanded extends ModelViewSet(Part, {
      ...parts,
      write: writeShape(Part, ['name']),
      expand: { kinds: many('kinds.name') },
    }) {},
    /^Expanded\.create \(a request may "expand" the response\)/,
  ],
  [
    'ETags',
    class Tagged extends ModelViewSet(Item, { read, write, etags: true }) {},
    /^Tagged\.update \(Tagged has ETags, so that requests may have an If-Match\)/,
  ],
  [
    'a version',
    class Versions extends ModelViewSet(Versioned, {
      read: readShape(Versioned, ['id']),
      write: writeShape(Versioned, ['name']),
    }) {},
    /^Versions\.create \(Versioned has a version\)/,
  ],
  [
    'several records at once',
    class Several extends ModelViewSet(Item, { read, write, bulk: 5 }) {},
    /^Several\.create \(Several creates several at once \("bulk"\)\)/,
  ],
  [
    'several deletions at once',
    class Cleared extends ModelViewSet(Item, { read, write, bulk: { destroy: 5 } }) {},
    /^Cleared\.destroy \(it writes several records\)/,
  ],
  [
    'a question about the record',
    class Owned extends ModelViewSet(Item, { read, write, permissionClasses: [Owners] }) {},
    /^Owned\.update \(the permission Owners has to see the record\)/,
  ],
  [
    'a scope that new records must lie in',
    class Narrow extends ModelViewSet(Item, { read, write, permissionClasses: [Scoped] }) {},
    /^Narrow\.create \(the permission Scoped has to see the record\)/,
  ],
  [
    'a filter of MikroORM',
    class Filtered extends ModelViewSet(Hidden, {
      read: readShape(Hidden, ['id']),
      write: writeShape(Hidden, ['name']),
    }) {},
    /^Filtered\.create \(a filter of MikroORM is on for Hidden, or for what it refers to\)/,
  ],
  [
    'an action of one record',
    class Acting extends ModelViewSet(Item, { read }) {
      sell = action({ detail: true, methods: ['post'] }, async () => ({ sold: true }));
    },
    /^Acting\.sell \(an action by POST runs in one, unless it says "transaction: false"\)/,
  ],
  [
    'an action of the collection',
    class Merging extends ModelViewSet(Item, { read }) {
      merge = action({ methods: ['delete'] }, async () => ({ merged: true }));
    },
    /^Merging\.merge \(an action by DELETE runs in one, unless it says "transaction: false"\)/,
  ],
  [
    'an action that says so',
    class Summing extends ModelViewSet(Item, { read }) {
      sum = action({ transaction: true }, async () => ({ sum: 1 }));
    },
    /^Summing\.sum \(/,
  ],
  [
    "an override that goes on with the library's own",
    class Counting extends ModelViewSet(Item, { read, write, validate: () => undefined }) {
      override async create(request: FastifyRequest, reply: FastifyReply) {
        return super.create(request, reply);
      }
    },
    /^Counting\.create \(the view has rules: validate\)/,
  ],
  [
    'an override that goes on with an override',
    class Twice extends Once {
      override async update(request: FastifyRequest, reply: FastifyReply) {
        const answer = await super.update(request, reply);
        return answer;
      }
    },
    /^Twice\.update \(Twice overrides performUpdate\)/,
  ],
  [
    'an override of several creations beside one that goes its own way',
    class MadeBy extends ModelViewSet(Item, { read, write, bulk: { create: 5 } }) {
      override create(): Promise<never> {
        throw new UnprocessableEntity('stored by itself');
      }
      override async createMany(request: FastifyRequest, reply: FastifyReply) {
        return super.createMany(request, reply);
      }
    },
    /^MadeBy\.create \(MadeBy creates several at once \("bulk"\)\)/,
  ],
  [
    'an override of several deletions',
    class ClearedBy extends ModelViewSet(Item, { read, write, bulk: { destroy: 5 } }) {
      override async destroyMany(request: FastifyRequest, reply: FastifyReply) {
        return super.destroyMany(request, reply);
      }
    },
    /^ClearedBy\.destroy \(it writes several records\)/,
  ],
];

/** Sends what one record takes, and looks at what became of it. */
async function testItems(t: Test, app: FastifyInstance, orm: MikroORM): Promise<void> {
  const send = async (method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE', url: string, payload?: object) => {
    const answer = await app.inject({ method, url, ...(payload && { payload }) });
    return { status: answer.statusCode, body: answer.body === '' ? undefined : answer.json() };
  };
  const made = await send('POST', '/items', { name: 'Ash' });
  t.strictSame(made, { status: 201, body: { id: 1, name: 'Ash', stock: 3 } });
  const taken = await send('POST', '/items', { name: 'Ash' });
  t.equal(taken.status, 409);
  t.match(taken.body.details, [{ path: '/name' }]);
  t.strictSame(await send('PATCH', '/items/1', { stock: 5 }), { status: 200, body: { id: 1, name: 'Ash', stock: 5 } });
  t.equal((await send('PUT', '/items/1', { name: 'Elm' })).status, 200);
  t.strictSame((await send('GET', '/items?min=1')).body.results, [{ id: 1, name: 'Elm', stock: 5 }]);
  t.strictSame(await send('POST', '/items/1/rest'), { status: 200, body: { name: 'Elm' } });
  const many = await Promise.all(Array.from({ length: 10 }, () => send('POST', '/items', { name: 'Fir' })));
  t.equal(many.filter(({ status }) => status === 201).length, 1, 'one name is taken once');
  t.equal(many.filter(({ status }) => status === 409).length, 9);
  t.equal((await send('DELETE', '/items/1')).status, 204);
  t.equal((await send('GET', '/items/1')).status, 404);
  const refused = await send('POST', '/together');
  t.match(refused, { status: 500, body: { code: 'improperly_configured' } });
  t.equal(await orm.em.fork().count(Item, { name: 'Oak' }), 0, 'its work has not begun');
}

const before = (app: FastifyInstance): void => {
  app.post('/together', (request) =>
    inTransaction(request, async () => {
      await request.em.insert(Item, { name: 'Oak' });
      return {};
    }),
  );
};

forEachDatabase(t, { entities: ENTITIES, orm: { disableTransactions: true } }, async (t, orm, database) => {
  await t.test('views whose writes are one statement', async (t) => {
    const router = new Router().register('items', Items);
    await testItems(t, await testApp(t, orm, [router], { before }), orm);
  });

  for (const [what, View, message] of REFUSED) {
    await t.test(`${what} fails at start`, async (t) => {
      const router = new Router().register('refused', View);
      await t.rejects(testApp(t, orm, [router]), { code: 'improperly_configured', message });
    });
  }

  await t.test('an override that does not call super is allowed', async (t) => {
    class Alone extends ModelViewSet(Item, {
      read,
      write,
      validate: () => undefined,
      operations: ['create', 'update'],
    }) {
      override async create(request: FastifyRequest) {
        await request.em.insert(Item, { name: (request.body as ItemData).name });
        return this.update();
      }
      override async update(): Promise<never> {
        throw new UnprocessableEntity('stored by itself');
      }
    }
    class Heir extends Alone {
      override async create(request: FastifyRequest) {
        return super.create(request);
      }
    }
    const app = await testApp(t, orm, [new Router().register('alone', Heir)]);
    const answer = await app.inject({ method: 'POST', url: '/alone', payload: { name: 'Oak' } });
    t.equal(answer.statusCode, 422);
    t.equal(await orm.em.fork().count(Item, { name: 'Oak' }), 1);
    await orm.em.fork().nativeDelete(Item, { name: 'Oak' });
  });

  await t.test('an override of createMany that does not call super is allowed', async (t) => {
    class Loads extends ModelViewSet(Item, { read, write, operations: ['create'], bulk: { create: 5 } }) {
      override createMany(): Promise<never> {
        throw new UnprocessableEntity('stored by itself');
      }
    }
    const app = await testApp(t, orm, [new Router().register('loads', Loads)]);
    const one = await app.inject({ method: 'POST', url: '/loads', payload: { name: 'Larch' } });
    t.equal(one.statusCode, 201, one.body);
    t.equal((await app.inject({ method: 'POST', url: '/loads', payload: [{ name: 'Teak' }] })).statusCode, 422);
    await orm.em.fork().nativeDelete(Item, { name: 'Larch' });
  });

  await t.test('a record that others may refer to is deleted in one statement on SQL only', async (t) => {
    const started = testApp(t, orm, [new Router().register('kinds', class Kinds extends ModelViewSet(Kind, kinds) {})]);
    if (database !== 'mongodb') return void (await t.resolves(started));
    const message = /^Kinds\.destroy \(records may refer to Kind: MongoDB looks for them/;
    await t.rejects(started, { code: 'improperly_configured', message });
  });

  await t.test('a request that needs a transaction is rejected before it writes', async (t) => {
    class Changing extends ModelViewSet(Item, {
      read,
      write,
      operations: ['update'],
      permissionClasses: [Scoped],
    }) {}
    const app = await testApp(t, orm, [new Router().register('changing', Changing)]);
    const em = orm.em.fork();
    const { id } = em.create(Item, { name: 'Yew' });
    await em.flush();
    const key = id ?? (await orm.em.fork().findOneOrFail(Item, { name: 'Yew' })).id;
    const patch = (payload: object) => app.inject({ method: 'PATCH', url: `/changing/${key}`, payload });
    t.equal((await patch({ note: 'x' })).statusCode, 200);
    const refused = await patch({ note: 'y', stock: 0 });
    t.equal(refused.statusCode, 500, 'the stock decides who may see the record');
    t.equal(refused.json().code, 'improperly_configured');
    t.match(await orm.em.fork().findOne(Item, key), { note: 'x', stock: 3 });
  });
});

withMongoServer(t, 'a MongoDB that stands alone', { isStandalone: true }, async (t, mongo) => {
  await t.test('fails at start', async (t) => {
    const orm = await mongo.open({ entities: ENTITIES });
    await t.rejects(testApp(t, orm, []), {
      code: 'improperly_configured',
      message: /^This MongoDB stands alone and so has no transactions.*disableTransactions: true/s,
    });
  });

  await t.test('serves an ORM without transactions', async (t) => {
    const orm = await mongo.open({ entities: ENTITIES, orm: { disableTransactions: true } });
    const router = new Router().register('items', Items);
    await testItems(t, await testApp(t, orm, [router], { before }), orm);
  });

  await t.test('code of the application writes no reference that is to be kept', async (t) => {
    const orm = await mongo.open({ entities: ENTITIES, orm: { disableTransactions: true } });
    const em = orm.em.fork();
    const kind = em.create(Kind, { name: 'wood' });
    const item = em.create(Item, { name: 'Ash' });
    await em.flush();
    em.create(Loose, { name: 'loose', item });
    await em.flush();
    const message = /^Part: to keep the references of a record, and those to it, needs a transaction/;
    await t.rejects(orm.em.fork().insert(Part, { name: 'A', kind }), { message });
    t.equal(await orm.em.fork().count(Part, {}), 0);
    await t.rejects(orm.em.fork().nativeDelete(Kind, { id: kind.id }), { message: /^Kind: / });
    t.equal(await orm.em.fork().nativeDelete(Item, { id: item.id }), 1, 'whose references nobody keeps');
    t.equal(await orm.em.fork().count(Loose, { item: item.id }), 1);
  });
});
