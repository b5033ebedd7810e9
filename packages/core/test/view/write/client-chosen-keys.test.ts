/** Keys that clients choose: a new record never takes the place of one that is there. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { many, ModelViewSet, nested, readShape, Router, writeShape } from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const FolderSchema = defineEntity({
  name: 'Folder',
  properties: {
    code: p.string().length(20).primary(),
    name: p.string().length(20),
    parent: () => p.manyToOne(Folder).nullable(),
  },
});
class Folder extends FolderSchema.class {}
FolderSchema.setClass(Folder);

/** Its boxes are children with keys of the client's choice, one of which the shelf refers to. */
const ShelfSchema = defineEntity({
  name: 'Shelf',
  properties: {
    id: p.integer().primary(),
    label: p.string().length(20),
    boxes: () => p.oneToMany(Box).mappedBy('shelf'),
    spare: () => p.manyToOne(Box).nullable(),
  },
});
class Shelf extends ShelfSchema.class {}
ShelfSchema.setClass(Shelf);

const BoxSchema = defineEntity({
  name: 'Box',
  properties: {
    code: p.string().length(20).primary(),
    name: p.string().length(20),
    shelf: () => p.manyToOne(Shelf).nullable(),
    items: () => p.oneToMany(Item).mappedBy('box'),
  },
});
class Box extends BoxSchema.class {}
BoxSchema.setClass(Box);

const ItemSchema = defineEntity({
  name: 'Item',
  properties: { code: p.string().length(20).primary(), box: () => p.manyToOne(Box) },
});
class Item extends ItemSchema.class {}
ItemSchema.setClass(Item);

const box = writeShape(Box, ['code', 'name'], { items: nested(writeShape(Item, ['code'])) });
class Shelves extends ModelViewSet(Shelf, {
  read: readShape(Shelf, ['id', 'label'], { boxes: many(readShape(Box, ['code'], { items: many('items.code') })) }),
  write: writeShape(Shelf, ['label', 'spare'], { boxes: nested(box) }),
  bulk: 5,
}) {}

const options = {
  read: readShape(Folder, ['code', 'name', 'parent']),
  write: writeShape(Folder, ['code', 'name', 'parent']),
  bulk: 5,
};
class Folders extends ModelViewSet(Folder, options) {}
class HookedFolders extends ModelViewSet(Folder, options) {
  override performCreate(request: FastifyRequest, data: { code: string; name: string }) {
    return super.performCreate(request, data);
  }
}

const taken = (path: string) => ({ code: 'conflict', details: [{ in: 'body', path, message: 'is taken' }] });

forEachDatabase(t, { entities: [Folder, Shelf, Box, Item] }, async (t, orm) => {
  const router = new Router()
    .register('folders', Folders)
    .register('hooked', HookedFolders)
    .register('shelves', Shelves)
    .register('folders/:parent/folders', HookedFolders, { basename: 'inner' });
  const app = await testApp(t, orm, [router]);
  t.beforeEach(async () => {
    await orm.schema.clear();
    await orm.em.fork().insert(Folder, { code: 'a', name: 'first' });
  });
  const names = async (): Promise<string[]> =>
    (await orm.em.fork().findAll(Folder, { orderBy: { code: 1 } })).map(
      (each: InferEntity<typeof FolderSchema>) => each.name,
    );

  for (const path of ['/folders', '/hooked']) {
    await t.test(`${path}: a key that two records of a body have is a conflict`, async (t) => {
      const payload = [
        { code: 'b', name: 'one' },
        { code: 'b', name: 'two' },
      ];
      const answer = await app.inject({ method: 'POST', url: path, payload });
      t.equal(answer.statusCode, 409, answer.body);
      t.match(answer.json(), taken('/1/code'));
      t.strictSame(await names(), ['first']);
    });

    await t.test(`${path}: the key of a stored record is a conflict, and details name the record`, async (t) => {
      const payload = [
        { code: 'b', name: 'one' },
        { code: 'a', name: 'two' },
      ];
      const answer = await app.inject({ method: 'POST', url: path, payload });
      t.equal(answer.statusCode, 409, answer.body);
      t.match(answer.json(), taken('/1/code'));
      t.strictSame(await names(), ['first']);
    });

    await t.test(`${path}: the key of a record that the body refers to is a conflict`, async (t) => {
      const payload = { code: 'a', name: 'two', parent: 'a' };
      const one = await app.inject({ method: 'POST', url: path, payload });
      t.equal(one.statusCode, 409, one.body);
      t.match(one.json(), taken('/code'));
      const several = await app.inject({ method: 'POST', url: path, payload: [payload] });
      t.equal(several.statusCode, 409, several.body);
      t.match(several.json(), taken('/0/code'));
      t.strictSame(await names(), ['first']);
    });
  }

  await t.test('the key of the parent in the path is a conflict', async (t) => {
    const answer = await app.inject({ method: 'POST', url: '/folders/a/folders', payload: { code: 'a', name: 'two' } });
    t.equal(answer.statusCode, 409, answer.body);
    t.match(answer.json(), taken('/code'));
    t.strictSame(await names(), ['first']);
  });

  const a = { code: 'a', name: 'new' };
  const b = { code: 'b', name: 'new' };
  for (const [what, payload, path] of [
    ['a key that two children have', { label: 'x', boxes: [b, b] }, '/boxes/1/code'],
    ['the key of a child elsewhere', { label: 'x', boxes: [b, a] }, '/boxes/1/code'],
    ['the key of a record that the body refers to', { label: 'x', spare: 'a', boxes: [b, a] }, '/boxes/1/code'],
    [
      'a key that children of two children have',
      {
        label: 'x',
        boxes: [
          { ...b, items: [{ code: '1' }] },
          { code: 'c', name: 'new', items: [{ code: '2' }, { code: '1' }] },
        ],
      },
      '/boxes/1/items/1/code',
    ],
  ] as const) {
    await t.test(`${what} is a conflict among children`, async (t) => {
      const em = orm.em.fork();
      await em.insert(Shelf, { id: 100, label: 'first' });
      await em.insert(Box, { code: 'a', name: 'first', shelf: 100 });
      const one = await app.inject({ method: 'POST', url: '/shelves', payload });
      t.equal(one.statusCode, 409, one.body);
      t.match(one.json(), taken(path));
      const several = await app.inject({ method: 'POST', url: '/shelves', payload: [{ label: 'y' }, payload] });
      t.equal(several.statusCode, 409, several.body);
      t.match(several.json(), taken(`/1${path}`));
      t.equal(await em.count(Shelf), 1);
      t.match(
        await em.findAll(Box),
        [{ code: 'a', name: 'first', shelf: { id: 100 } }],
        'nobody takes the child of another',
      );
    });
  }

  await t.test('children whose keys are in the body are stored', async (t) => {
    const payload = { label: 'x', boxes: [{ ...b, items: [{ code: '1' }, { code: '2' }] }, a] };
    const answer = await app.inject({ method: 'POST', url: '/shelves', payload });
    t.equal(answer.statusCode, 201, answer.body);
    t.match(answer.json().boxes, [
      { code: 'a', items: [] },
      { code: 'b', items: ['1', '2'] },
    ]);
  });
});
