/** A record with a file that is added while another transaction deletes the record above it, with which the database deletes it. */
import { defineEntity, type EventSubscriber, p } from '@mikro-orm/core';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { file, FileType, isTransactionLost, ModelViewSet, readShape, Router, writeShape } from '../../../src/index.ts';
import { Bucket, PNG } from '../../support/bucket.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

/** It has no file of its own. */
const Album = defineEntity({
  name: 'Album',
  properties: { id: p.integer().primary(), title: p.string().length(50) },
});
const Photo = defineEntity({
  name: 'Photo',
  properties: {
    id: p.integer().primary(),
    image: p.type(FileType),
    album: () => p.manyToOne(Album).deleteRule('cascade'),
  },
});

const bucket = new Bucket();
class AlbumViewSet extends ModelViewSet(Album, { read: readShape(Album, ['id', 'title']) }) {}
class PhotoViewSet extends ModelViewSet(Photo, {
  read: readShape(Photo, ['id', 'image']),
  write: writeShape(Photo, [], { image: file({ store: bucket, maxBytes: 1000, types: ['image/*'], direct: true }) }),
}) {}

forEachDatabase(t, { entities: [Album, Photo] }, async (t, orm, database) => {
  const router = new Router().register('albums', AlbumViewSet).register('albums/:album/photos', PhotoViewSet);
  const app = await testApp(t, orm, [router], { options: { secret: 'a secret of at least 32 bytes for tests' } });
  const post = (url: string, payload: object) => app.inject({ method: 'POST', url, payload });
  /** Resolves once a transaction waits for another one. */
  const someoneWaits = async (): Promise<void> => {
    const waiting = 'select 1 from pg_stat_activity where datname = current_database() and wait_event_type = ?';
    while ((await orm.em.getConnection().execute<unknown[]>(waiting, ['Lock'])).length === 0) await sleep(10);
  };

  await t.test(
    'a file whose parent record is deleted by a concurrent transaction is not left in the store',
    async (t) => {
      const em = orm.em.fork();
      const album = em.create(Album, { title: 'Sea' });
      await em.flush();
      const url = `/albums/${album.id}/photos`;
      const asked = await post(`${url}/uploads`, { name: 'a.png', size: PNG.length, type: 'image/png' });
      const { upload, url: to } = asked.json<{ upload: string; url: string }>();
      bucket.receive(to);
      let added: ReturnType<typeof post> | undefined;
      const adding: EventSubscriber = {
        getSubscribedEntities: () => [Album],
        // After the library has looked for files, and before the record is deleted.
        beforeDelete: async () => {
          added = post(url, { image: { upload } });
          if (database === 'postgresql') await Promise.race([added, someoneWaits()]);
        },
      };
      orm.em.getEventManager().registerSubscriber(adding);
      await em
        .remove(album)
        .flush()
        .catch((error: unknown) => {
          // MongoDB may end the transaction for the sake of the other one, whose photo then stays.
          if (database !== 'mongodb' || !isTransactionLost(error)) throw error;
        });
      const answer = await added!;
      const photos = await orm.em.fork().find(Photo, {});
      t.strictSame(
        [...bucket.files.keys()],
        photos.map(({ image }) => image.key),
        answer.body,
      );
      if (database === 'mongodb') return;
      t.equal(photos.length, 0);
      t.ok(answer.statusCode >= 400, answer.body);
    },
  );
});
