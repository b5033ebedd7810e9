/** A record can be sent back as it was read: the link of its file keeps the file. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyInstance } from 'fastify';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import t from 'tap';
import {
  field,
  type FileStore,
  FileType,
  file,
  ModelViewSet,
  readShape,
  Router,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Album = defineEntity({ name: 'Album', properties: { id: p.integer().primary(), name: p.string().unique() } });
const Photo = defineEntity({
  name: 'Photo',
  properties: {
    id: p.integer().primary(),
    title: p.string(),
    image: p.type(FileType).nullable(),
    notes: p.type(FileType).nullable(),
    album: () => p.manyToOne(Album),
  },
});

const files = new Map<string, Buffer>();
const store: FileStore = {
  put: async (key, content) => void files.set(key, await buffer(content)),
  get: async (key, range = { start: 0, end: Infinity }) =>
    Readable.from([files.get(key)!.subarray(range.start, range.end + 1)]),
  delete: async (key) => void files.delete(key),
};
const text = file({ store, maxBytes: 100, types: ['text/plain'] });

let validated: unknown;
class AlbumViewSet extends ModelViewSet(Album, { read: readShape(Album, ['id', 'name']), lookupField: 'name' }) {}
class PhotoViewSet extends ModelViewSet(Photo, {
  read: readShape(Photo, ['id', 'title', 'notes'], { picture: 'image' }),
  write: writeShape(Photo, ['title'], { picture: field('image', text), notes: text }),
  validate: (data) => void (validated = data),
  bulk: 10,
}) {}
const router = (): Router =>
  new Router({ prefix: 'api' }).register('albums', AlbumViewSet).register('albums/:album/photos', PhotoViewSet);

function form(fields: Readonly<Record<string, string | { readonly name: string; readonly text: string }>>): {
  payload: string;
  headers: Record<string, string>;
} {
  const parts = Object.entries(fields).map(([name, value]) =>
    typeof value === 'string'
      ? `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
      : `--x\r\ncontent-disposition: form-data; name="${name}"; filename="${value.name}"\r\ncontent-type: text/plain\r\n\r\n${value.text}\r\n`,
  );
  return { payload: `${parts.join('')}--x--\r\n`, headers: { 'content-type': 'multipart/form-data; boundary=x' } };
}

interface Link {
  readonly url: string;
  readonly name: string;
  readonly size: number;
  readonly type: string;
}
interface Sent {
  readonly id: number;
  readonly title: string;
  readonly picture: Link | null;
  readonly notes: Link | null;
}

const MESSAGE = 'must be a file, sent as multipart/form-data, or the link of the current file';

forEachDatabase(t, { entities: [Album, Photo] }, async (t, orm) => {
  const em = orm.em.fork();
  em.create(Album, { id: 1, name: 'sea' });
  await em.flush();
  let app: FastifyInstance;
  t.beforeEach(async (t) => {
    app = await testApp(t, orm, [router()]);
    files.clear();
    await orm.em.fork().nativeDelete(Photo, {});
  });
  const PHOTOS = '/api/albums/sea/photos';
  const create = async (title: string): Promise<Sent> => {
    const body = form({ title, picture: { name: 'a.txt', text: 'one' }, notes: { name: 'n.txt', text: 'n' } });
    const answer = await app.inject({ method: 'POST', url: PHOTOS, ...body });
    t.equal(answer.statusCode, 201, answer.body);
    return answer.json<Sent>();
  };
  const write = (method: 'PUT' | 'PATCH' | 'POST', url: string, payload: object) =>
    app.inject({ method, url, payload });

  await t.test('PUT and PATCH of a record as it was read keep its files', async (t) => {
    const record = await create('first');
    t.match(record.picture?.url, /^\/api\/albums\/sea\/photos\/\d+\/image$/);
    const before = [...files.keys()];
    for (const method of ['PUT', 'PATCH'] as const) {
      validated = undefined;
      const answer = await write(method, `${PHOTOS}/${record.id}`, { ...record, title: method });
      t.strictSame([answer.statusCode, answer.json()], [200, { ...record, title: method }]);
      t.strictSame(validated, { title: method }, 'rules of the view see no change');
    }
    t.strictSame([...files.keys()], before);
    const nothing = await write('PUT', `${PHOTOS}/${record.id}`, { title: 'x', picture: null, notes: record.notes });
    t.match(nothing.json<Sent>(), { picture: null, notes: record.notes });
    t.equal(files.size, 1);
  });

  await t.test('a form with a link and a new file', async (t) => {
    const record = await create('first');
    const body = form({ title: 'x', picture: { name: 'b.txt', text: 'other' }, notes: JSON.stringify(record.notes) });
    const answer = await app.inject({ method: 'PUT', url: `${PHOTOS}/${record.id}`, ...body });
    t.match(answer.json(), { picture: { name: 'b.txt', size: 5 }, notes: record.notes });
    t.equal(files.size, 2);
  });

  await t.test('a bulk PATCH keeps the files', async (t) => {
    const records = [await create('first'), await create('second')];
    const sent = records.map((record) => ({ ...record, title: `${record.title}!` }));
    const answer = await write('PATCH', PHOTOS, sent);
    t.strictSame([answer.statusCode, answer.json()], [200, sent]);
    const [one, two] = records as [Sent, Sent];
    const swapped = await write('PATCH', PHOTOS, [
      { id: one.id, picture: one.picture },
      { id: two.id, picture: one.picture },
    ]);
    t.strictSame(
      [swapped.statusCode, swapped.json<{ details: unknown }>().details],
      [400, [{ in: 'body', path: '/1/picture', message: MESSAGE }]],
    );
  });

  await t.test('any other link is an error, also on create', async (t) => {
    const record = await create('first');
    const other = await create('second');
    const link = record.picture!;
    const wrong: readonly unknown[] = [
      other.picture,
      record.notes,
      { ...link, url: `${link.url}?x` },
      { ...link, name: 'b.txt' },
      { ...link, size: 4 },
      { ...link, type: 'text/html' },
    ];
    for (const picture of wrong) {
      const answer = await write('PATCH', `${PHOTOS}/${record.id}`, { title: '', picture });
      t.strictSame(
        [answer.statusCode, answer.json<{ details: unknown }>().details],
        [
          400,
          [
            { in: 'body', path: '/picture', message: MESSAGE },
            { in: 'body', path: '/title', message: 'must not be empty' },
          ],
        ],
        JSON.stringify(picture),
      );
    }
    for (const picture of [{}, { url: link.url }, [link], link.url, { ...link, size: '3' }]) {
      const answer = await write('PATCH', `${PHOTOS}/${record.id}`, { picture });
      t.match(answer.json(), { details: [{ path: '/picture', message: /^must be a file, sent as multipart/ }] });
    }
    const created = await write('POST', PHOTOS, { title: 'x', picture: link });
    t.match(created.json(), {
      details: [{ path: '/picture', message: 'must be a file, sent as multipart/form-data' }],
    });
    await write('PATCH', `${PHOTOS}/${record.id}`, { picture: null });
    t.equal((await write('PATCH', `${PHOTOS}/${record.id}`, { picture: link })).statusCode, 400, 'a file that is gone');
    t.equal((await write('PATCH', `${PHOTOS}/0`, { picture: link })).statusCode, 404);
  });
});
