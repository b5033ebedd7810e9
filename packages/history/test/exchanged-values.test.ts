/** The history of records whose unique values pass from one to another: it has no temporary value. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { ModelViewSet, nested, readShape, Router, writeShape } from '@viewset/core';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { testApp } from '../../core/test/support/library.ts';
import { history, HistoryEntry } from '../src/index.ts';

const FolderSchema = defineEntity({
  name: 'Folder',
  uniques: [{ properties: ['parent', 'position'] }],
  properties: {
    id: p.integer().primary(),
    position: p.integer().nullable(),
    parent: () => p.manyToOne(Folder).nullable(),
    folders: () => p.oneToMany(Folder).mappedBy('parent'),
  },
});
class Folder extends FolderSchema.class {}
FolderSchema.setClass(Folder);

class FolderViewSet extends ModelViewSet(Folder, {
  read: readShape(Folder, ['id', 'position']),
  write: writeShape(Folder, ['position', 'parent'], {
    folders: nested(writeShape(Folder, ['position']), { update: true }),
  }),
  bulk: 10,
  history: true,
}) {}

forEachDatabase(t, { entities: [Folder, HistoryEntry] }, async (t, orm) => {
  const app = await testApp(t, orm, [new Router().register('folders', FolderViewSet)], {
    before: async (child) => {
      await child.register(history);
    },
  });
  const send = async (method: 'POST' | 'PATCH', url: string, payload: object) => {
    const answer = await app.inject({ method, url, payload });
    t.ok(answer.statusCode < 300, answer.body);
    return answer.json<{ id: number }>();
  };
  const changes = async () => {
    const entries = await orm.em.fork().findAll(HistoryEntry, { orderBy: { id: 'asc' } });
    return entries
      .map(({ record, values_before: before, values: after }) => {
        const positions = [before, after].map((values) => (values as { position?: number } | null)?.position);
        return [Number(record), ...positions] as [number, ...unknown[]];
      })
      .toSorted(([one], [other]) => one - other);
  };
  const { id: root } = await send('POST', '/folders', {
    position: 1,
    folders: [{ position: 1 }, { position: 2 }, { position: 3 }],
  });
  const children = (await orm.em.fork().find(Folder, { parent: root }, { orderBy: { position: 1 } })).map(
    ({ id }) => id,
  );
  const [first, second, third] = children as [number, number, number];
  const clear = () => orm.em.fork().nativeDelete(HistoryEntry, {});

  await clear();
  const swapped = [
    { id: first, position: 2 },
    { id: second, position: 1 },
  ];
  await send('PATCH', '/folders', swapped);
  t.strictSame(await changes(), [
    [first, 1, 2],
    [second, 2, 1],
  ]);

  await clear();
  const folders = [
    { id: first, position: 3 },
    { id: second, position: 2 },
    { id: third, position: 1 },
  ];
  await send('PATCH', `/folders/${root}`, { folders });
  t.strictSame(await changes(), [
    [root, undefined, 1],
    [first, 2, 3],
    [second, 1, 2],
    [third, 3, 1],
  ]);
});
