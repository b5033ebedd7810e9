/** `permissionClasses` with a list for each operation. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyInstance } from 'fastify';
import { Readable } from 'node:stream';
import t from 'tap';
import {
  action,
  AllowAny,
  file,
  FileType,
  HasRole,
  IsAuthenticated,
  IsOwner,
  IsSafeMethodOnly,
  ModelViewSet,
  type PermissionClass,
  readShape,
  Router,
  scoped,
  ViewSet,
  writeShape,
} from '../../src/index.ts';
import { checkOperators } from '../../src/permissions/operators.ts';
import { Bucket } from '../support/bucket.ts';
import { forEachDatabase, openSqlite } from '../support/databases.ts';
import { errorAtStart, testApp } from '../support/library.ts';

const Shelf = defineEntity({
  name: 'Shelf',
  properties: { id: p.integer().primary(), name: p.string().length(20), is_open: p.boolean() },
});
const Item = defineEntity({
  name: 'Item',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(20),
    owner: p.integer().nullable(),
    shelf: () => p.manyToOne(Shelf),
    image: p.type(FileType).nullable(),
    deleted_at: p.datetime().length(3).nullable(),
  },
});
const entities = [Shelf, Item];

const Lister = HasRole('lister');
const Maker = HasRole('maker');
const Reader = HasRole('reader');
const Editor = HasRole('editor');
const Remover = HasRole('remover');
const Boss = HasRole('boss');

const bucket = new Bucket();
const image = file({ store: bucket, maxBytes: 1000, types: ['image/*'], direct: true });
const read = readShape(Item, ['id', 'title', 'image']);
const write = writeShape(Item, ['title', 'shelf'], { image });

class ItemViewSet extends ModelViewSet(Item, {
  read,
  write,
  bulk: 5,
  queryMethod: true,
  exports: ['csv'],
  summary: { group: ['title'] },
  softDelete: { property: 'deleted_at', visibleTo: [IsAuthenticated] },
  permissionClasses: {
    default: [Boss],
    list: [Lister],
    create: [Maker],
    retrieve: [Reader],
    update: [Editor],
    destroy: [Remover],
  },
}) {
  count = action({}, () => ({ count: 1 }));
  touch = action({ methods: ['post'], detail: true }, () => ({}));
  peek = action({ permissionClasses: [Reader] }, () => ({}));
}

/** Its list is open to all, its records are for the scope of each user. */
const Mine = scoped(Shelf, () => ({ is_open: true }));
class ShelfViewSet extends ModelViewSet(Shelf, {
  read: readShape(Shelf, ['id', 'name']),
  write: writeShape(Shelf, ['name', 'is_open']),
  permissionClasses: { default: [IsAuthenticated], list: [AllowAny], retrieve: [Mine], destroy: [Boss] },
}) {
  all = action({ permissionClasses: [IsAuthenticated] }, async (request) => ({
    count: await this.getQueryset(request).count(),
  }));
}
class ShelvedViewSet extends ModelViewSet(Item, {
  read: readShape(Item, ['id', 'title', 'shelf']),
  write: writeShape(Item, ['title', 'shelf']),
  referenceViews: { shelf: ShelfViewSet },
}) {}
class InShelfViewSet extends ModelViewSet(Item, { read: readShape(Item, ['id', 'title']) }) {}
class OwnedViewSet extends ModelViewSet(Item, {
  read: readShape(Item, ['id', 'title', 'owner']),
  write: writeShape(Item, ['title', 'shelf', 'owner']),
  permissionClasses: { default: [IsAuthenticated], update: [IsOwner('owner')] },
}) {}
/** Its list shows a file that its records do not show. */
class ScanViewSet extends ModelViewSet(Item, {
  read: { default: readShape(Item, ['id', 'title']), list: read },
  write,
  operations: ['list', 'retrieve', 'create'],
  permissionClasses: {
    default: [AllowAny],
    create: [Boss],
    list: [Lister, scoped(Item, () => ({ title__ne: 'Elm' }))],
  },
}) {}
class StatusViewSet extends ViewSet {
  override permissionClasses = { default: [IsAuthenticated], list: [AllowAny] };
  override list() {
    return { ok: true };
  }
  override create() {
    return {};
  }
  ping = action({}, () => ({}));
}

const ROLES = ['lister', 'maker', 'reader', 'editor', 'remover', 'boss'] as const;

const router = (): Router =>
  new Router()
    .register('items', ItemViewSet)
    .register('shelves', ShelfViewSet)
    .register('shelves/:shelf/items', InShelfViewSet)
    .register('shelved', ShelvedViewSet)
    .register('owned', OwnedViewSet)
    .register('scans', ScanViewSet)
    .register('status', StatusViewSet);

forEachDatabase(t, { entities }, async (t, orm) => {
  let app: FastifyInstance;
  t.beforeEach(async (t) => {
    await orm.schema.refresh();
    const em = orm.em.fork();
    const open = em.create(Shelf, { name: 'open', is_open: true });
    await em.flush();
    em.create(Shelf, { name: 'closed', is_open: false });
    em.create(Item, { title: 'Ash', shelf: open, owner: null, image: null, deleted_at: null });
    await em.flush();
    app = await testApp(t, orm, [router()], { options: { secret: 'a secret of at least 32 bytes for tests' } });
  });
  const send = (user: string, method: string, url: string, payload?: object) =>
    app.inject({
      method: method as 'GET',
      url,
      headers: user === '' ? {} : { 'x-user': user },
      ...(payload !== undefined && { payload }),
    });

  t.test('each route checks the permissions of its operation alone', async (t) => {
    const form = { field: 'image', name: 'a.png', size: 10, type: 'image/png' };
    const requests: readonly (readonly [method: string, url: string, payload: object | undefined, allowed: string])[] =
      [
        ['GET', '/items', undefined, 'lister'],
        ['QUERY', '/items', {}, 'lister'],
        ['GET', '/items.csv', undefined, 'lister'],
        ['GET', '/items/summary?group=title', undefined, 'lister'],
        ['GET', '/items/deleted', undefined, 'lister'],
        ['GET', '/items/1', undefined, 'reader'],
        ['GET', '/items/1/image', undefined, 'reader'],
        ['POST', '/items', { title: 'New', shelf: 1 }, 'maker'],
        ['POST', '/items', [{ title: 'New', shelf: 1 }], 'maker'],
        ['PUT', '/items/1', { title: 'New', shelf: 1 }, 'editor'],
        ['PATCH', '/items/1', { title: 'New' }, 'editor'],
        ['PATCH', '/items', [{ id: 1, title: 'New' }], 'editor'],
        ['POST', '/items/uploads', form, 'maker editor'],
        ['GET', '/items/count', undefined, 'boss'],
        ['POST', '/items/1/touch', undefined, 'boss'],
        ['GET', '/items/peek', undefined, 'reader'],
        ['DELETE', '/items/99', undefined, 'remover'],
        ['DELETE', '/items?id=99', undefined, 'remover'],
        ['POST', '/items/99/restore', undefined, 'remover'],
      ];
    for (const [method, url, payload, allowed] of requests) {
      const passed: string[] = [];
      for (const role of ROLES) {
        const { statusCode, body } = await send(role, method, url, payload);
        t.ok(statusCode < 500, `${method} ${url}: ${body}`);
        if (statusCode !== 401 && statusCode !== 403) passed.push(role);
      }
      t.equal(passed.join(' '), allowed, `${method} ${url}`);
      t.equal((await send('', method, url, payload)).statusCode, 401, `${method} ${url} without a user`);
    }
  });

  t.test('OPTIONS lists what each user may do', async (t) => {
    const permitted = async (role: string, url: string) =>
      (await send(role, 'OPTIONS', url)).headers['permitted-operations'];
    t.equal(await permitted('reader', '/items/1'), 'retrieveItem, imageItem');
    t.equal(await permitted('editor', '/items/1'), 'replaceItem, updateItem');
    t.equal(await permitted('remover', '/items/1'), 'destroyItem');
    t.equal(await permitted('boss', '/items/1'), 'touchItem');
    t.equal(await permitted('maker', '/items'), 'createItem, uploadItems');
  });

  t.test('only the operations of AllowAny alone need no token', async (t) => {
    const open = app.viewset.operations.filter((plan) => plan.allowsAnonymous).map((plan) => plan.operationId);
    t.same(open.toSorted(), ['imageScan', 'listShelves', 'listStatus', 'retrieveScan']);
    t.equal((await send('', 'GET', '/status')).statusCode, 200);
    t.equal((await send('', 'POST', '/status')).statusCode, 401);
    t.equal((await send('', 'GET', '/status/ping')).statusCode, 401);
    t.equal((await send('ann', 'GET', '/status/ping')).statusCode, 200);
  });

  t.test(
    'parents and references are found by the permissions of retrieve, actions are narrowed by default',
    async (t) => {
      t.equal((await send('', 'GET', '/shelves')).json().results.length, 2, 'the list has no scope');
      t.equal((await send('', 'GET', '/shelves/1')).statusCode, 200);
      t.equal((await send('', 'GET', '/shelves/2')).statusCode, 404);
      t.equal((await send('', 'GET', '/shelves/1/items')).json().results.length, 1);
      t.equal((await send('', 'GET', '/shelves/2/items')).statusCode, 404);
      t.equal((await send('', 'POST', '/shelved', { title: 'Oak', shelf: 1 })).statusCode, 201);
      t.equal((await send('', 'POST', '/shelved', { title: 'Oak', shelf: 2 })).statusCode, 400);
      t.same((await send('ann', 'GET', '/shelves/all')).json(), { count: 2 });
    },
  );

  t.test('a file that the list alone shows needs the permissions of the list', async (t) => {
    const stored = (key: string) => ({ key, name: 'a.png', type: 'image/png', size: 4 });
    await bucket.put('ash', Readable.from([Buffer.from('ash!')]));
    const em = orm.em.fork();
    const [ash] = await em.find(Item, {});
    Object.assign(ash!, { image: stored('ash') });
    em.create(Item, { title: 'Elm', shelf: ash!.shelf, owner: null, image: stored('ash'), deleted_at: null });
    await em.flush();
    for (const user of ['', 'reader']) {
      t.notHas((await send(user, 'GET', '/scans/1')).json(), { image: {} });
      t.not((await send(user, 'GET', '/scans')).statusCode, 200);
      t.equal((await send(user, 'GET', '/scans/1/image')).statusCode, 404, user);
      t.notMatch((await send(user, 'OPTIONS', '/scans/1')).body, /image/i);
    }
    t.equal((await send('lister', 'GET', '/scans/1/image')).body, 'ash!');
    t.same((await send('lister', 'GET', '/scans')).json().results.length, 1);
    t.equal((await send('lister', 'GET', '/scans/2/image')).statusCode, 404, 'the scope of the list hides it');
  });

  t.test('an owner class of one operation sets the field on create', async (t) => {
    const made = await send('ann', 'POST', '/owned', { title: 'Oak', shelf: 1, owner: 9 });
    t.match(made.json(), { owner: 3 });
    const url = `/owned/${made.json().id}`;
    t.equal((await send('bobby', 'PATCH', url, { title: 'Elm' })).statusCode, 403);
    t.equal((await send('ann', 'PATCH', url, { title: 'Elm' })).statusCode, 200);
    t.equal((await send('bobby', 'DELETE', url)).statusCode, 204, 'default has no owner');
  });
});

t.test('wrong declarations fail at start', async (t) => {
  const orm = await openSqlite(t, { entities });
  const refused = (permissionClasses: object, options: object = {}) => {
    const given = { read: readShape(Shelf, ['id']), write: writeShape(Shelf, ['name', 'is_open']), permissionClasses };
    class View extends ModelViewSet(Shelf, { ...given, ...options } as never) {
      count = action({}, () => ({}));
    }
    return errorAtStart(t, orm, View);
  };
  const list = [IsAuthenticated];
  t.equal(await refused({ default: list, destroy: [Boss] }), undefined);
  t.match(
    await refused({ default: list, destory: list }),
    /names "destory", which is no operation; did you mean "destroy"\?/,
  );
  t.match(await refused({ defualt: list }), /needs the name "default"/);
  t.match(await refused({ destroy: list }), /needs the name "default", for actions and for operations/);
  t.match(
    await refused({ default: list, count: list }),
    /"count", .*the action itself has the option "permissionClasses"/,
  );
  t.match(await refused({ default: list, publish: list }), /it knows default, list, create, retrieve, update, destroy/);
  t.match(
    await refused({ default: list, destroy: list }, { operations: ['list'], write: undefined }),
    /has classes for "destroy", which the view does not offer/,
  );
  t.match(await refused({ default: list, destroy: Boss }), /"permissionClasses.destroy" must be a list of classes/);
  t.match(await refused({ default: list, destroy: [Shelf] }), /permissionClasses\.destroy\[0\]/);
  t.match(await refused({ default: list, destroy: [IsOwner('owner')] }), /"owner" names no field/);
});

t.test('a composed class that a class extends has its name', async (t) => {
  class MayEdit extends IsSafeMethodOnly.or(Boss) {}
  class IsStaff extends HasRole('boss', 'reader') {}
  class IsKnownStaff extends IsAuthenticated.and(IsStaff) {}
  class NamedViewSet extends ModelViewSet(Shelf, {
    read: readShape(Shelf, ['id']),
    write: writeShape(Shelf, ['name', 'is_open']),
    permissionClasses: { default: [MayEdit], update: [IsStaff, IsKnownStaff], destroy: [MayEdit.and(IsAuthenticated)] },
  }) {}
  const orm = await openSqlite(t, { entities });
  const app = await testApp(t, orm, [new Router().register('shelves', NamedViewSet)]);
  const namesOf = (action: string) =>
    app.viewset.operations.find((plan) => plan.action === action)!.permissions.map((each) => each.constructor.name);
  t.same(namesOf('list'), ['MayEdit']);
  t.same(namesOf('update'), ['IsStaff', 'IsKnownStaff']);
  t.same(namesOf('destroy'), ['(MayEdit and IsAuthenticated)']);
  const payload = { name: 'new', is_open: true };
  t.equal((await app.inject({ method: 'GET', url: '/shelves' })).statusCode, 200);
  t.equal((await app.inject({ method: 'POST', url: '/shelves', payload })).statusCode, 401);
  t.equal(
    (await app.inject({ method: 'POST', url: '/shelves', payload, headers: { 'x-user': 'ann' } })).statusCode,
    403,
  );
  t.equal(
    (await app.inject({ method: 'POST', url: '/shelves', payload, headers: { 'x-user': 'boss' } })).statusCode,
    201,
  );
});

t.test('a || b in a list by operation is found', (t) => {
  class Either extends ViewSet {
    override permissionClasses = { default: [IsAuthenticated], list: [AllowAny || IsOwner('x', { scope: true })] };
  }
  t.throws(() => checkOperators('Either', new Either()), { message: /"AllowAny \|\| IsOwner/ });
  t.end();
});

t.test('the types know the operations', (t) => {
  const classes: readonly PermissionClass[] = [IsAuthenticated];
  class Typed extends ModelViewSet(Shelf, {
    read: readShape(Shelf, ['id']),
    permissionClasses: { default: classes },
  }) {}
  const read = readShape(Shelf, ['id']);
  // @ts-expect-error -- no operation has this name
  const wrong = () => ModelViewSet(Shelf, { read, permissionClasses: { default: [], destory: [] } });
  // @ts-expect-error -- "default" is missing
  const missing = () => ModelViewSet(Shelf, { read, permissionClasses: { list: [] } });
  t.ok([Typed, wrong, missing]);
  t.end();
});
