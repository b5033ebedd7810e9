/** Keys that clients choose: a new record never takes the place of one that is there. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

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

forEachDatabase(t, { entities: [Folder] }, async (t, orm) => {
  const router = new Router()
    .register('folders', Folders)
    .register('hooked', HookedFolders)
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

    await t.test(`${path}: the key of a stored record is a conflict, and details say whose`, async (t) => {
      const payload = [
        { code: 'b', name: 'one' },
        { code: 'a', name: 'two' },
      ];
      const answer = await app.inject({ method: 'POST', url: path, payload });
      t.equal(answer.statusCode, 409, answer.body);
      t.match(answer.json(), taken('/1/code'));
      t.strictSame(await names(), ['first']);
    });

    await t.test(`${path}: so is the key of a record that the body refers to`, async (t) => {
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

  await t.test('so is the key of the parent that the path names', async (t) => {
    const answer = await app.inject({ method: 'POST', url: '/folders/a/folders', payload: { code: 'a', name: 'two' } });
    t.equal(answer.statusCode, 409, answer.body);
    t.match(answer.json(), taken('/code'));
    t.strictSame(await names(), ['first']);
  });
});
