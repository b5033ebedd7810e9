/** To-many relations come in the order that the entity declares, unless `many()` names another. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { many, ModelViewSet, readShape, refs, Router, writeShape } from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Label = defineEntity({
  name: 'Label',
  properties: { id: p.integer().primary(), name: p.string().unique() },
});
const Verse = defineEntity({
  name: 'Verse',
  properties: {
    id: p.integer().primary(),
    text: p.string(),
    rank: p.integer(),
    song: () => p.manyToOne(Song),
    label: () => p.manyToOne(Label).nullable(),
  },
});
const Song = defineEntity({
  name: 'Song',
  properties: {
    id: p.integer().primary(),
    title: p.string(),
    labels: () => p.manyToMany(Label).fixedOrder(),
    sorted: () => p.manyToMany(Label).orderBy({ name: 'desc' }),
    verses: () =>
      p
        .oneToMany(Verse)
        .mappedBy('song')
        .orderBy([{ label: { name: 'asc' } }, { rank: 'desc' }]),
  },
});

const read = readShape(Song, ['id'], {
  labels: many('labels.name'),
  sorted: many('sorted.name'),
  verses: many('verses.text'),
  first: many(readShape(Label, ['name']), { from: 'labels', limit: 2 }),
  byName: many(readShape(Label, ['name']), { from: 'labels', orderBy: 'name' }),
});
const write = writeShape(Song, ['title'], { labels: refs('labels.name'), sorted: refs('sorted.name') });
class SongViewSet extends ModelViewSet(Song, { read, write }) {}
class EntityViewSet extends ModelViewSet(Song, { read, write }) {
  override represent(song: never) {
    return super.represent(song);
  }
}

forEachDatabase(t, { entities: [Label, Verse, Song] }, async (t, orm) => {
  const app = await testApp(t, orm, [new Router().register('songs', SongViewSet).register('entities', EntityViewSet)]);
  const em = orm.em.fork();
  const labels = ['a', 'b', 'c'].map((name) => em.create(Label, { name }));
  await em.flush();

  for (const path of ['songs', 'entities']) {
    t.test(path, async (t) => {
      const send = async (method: 'POST' | 'PATCH', url: string, payload: object) =>
        (await app.inject({ method, url, payload })).json();
      const sent = { title: 'x', labels: ['c', 'a', 'b'], sorted: ['b', 'c', 'a'] };
      const song = await send('POST', `/${path}`, sent);
      t.match(song, { labels: ['c', 'a', 'b'], sorted: ['c', 'b', 'a'] }, JSON.stringify(song));
      t.strictSame(song.first, [{ name: 'c' }, { name: 'a' }]);
      t.strictSame(song.byName, [{ name: 'a' }, { name: 'b' }, { name: 'c' }]);
      const url = `/${path}/${song.id}`;
      t.strictSame((await send('PATCH', url, { labels: ['b', 'a', 'c'] })).labels, ['b', 'a', 'c']);
      t.strictSame((await send('PATCH', url, { labels: ['a', 'b'] })).labels, ['a', 'b']);
      t.strictSame((await send('PATCH', url, { labels: ['c', 'a', 'b'] })).labels, ['c', 'a', 'b']);
      const fork = orm.em.fork();
      const verses = [
        [1, 1],
        [2, 0],
        [3, 1],
        [4, undefined],
        [5, 0],
      ] as const;
      for (const [rank, label] of verses) {
        fork.create(Verse, {
          text: `${rank}`,
          rank,
          song: song.id,
          label: label === undefined ? null : labels[label]!.id,
        } as never);
        if (label !== 0) continue;
        fork.create(Verse, { text: `${rank}-`, rank: -rank, song: song.id, label: labels[0]!.id } as never);
      }
      await fork.flush();
      t.strictSame((await app.inject(url)).json().verses, ['5', '2', '2-', '5-', '3', '1', '4']);
      const listed = (await app.inject(`/${path}`)).json().results;
      t.strictSame(listed.at(-1).labels, ['c', 'a', 'b']);
    });
  }
});
